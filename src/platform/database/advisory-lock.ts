import type { EntityManager } from 'typeorm';

/** Waits for whoever holds the same name, and keeps others waiting to the end of the transaction. */
export async function advisoryLock(tx: EntityManager, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
