import type { DataSource, EntityManager } from 'typeorm';
import type { Problem } from '../errors/problem.js';
import { isUniqueViolation } from './database-error.js';

/** Commits `work`. What a unique index refuses (a name that is taken) is told as the Problem that `taken` makes. */
export async function writeUnique<Result>(
  db: DataSource,
  work: (tx: EntityManager) => Promise<Result>,
  taken: () => Problem,
): Promise<Result> {
  try {
    return await db.transaction(work);
  } catch (error) {
    throw isUniqueViolation(error) ? taken() : error;
  }
}
