import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { Problem } from '../errors/problem.js';

/**
 * assertListed rejects an additional row if an unpaginated list already has `max` rows, because an unlisted row would remain in effect unnoticed.
 *
 * @throws Problem `list.full`
 */
export async function assertListed(tx: EntityManager, entity: EntityTarget<ObjectLiteral>, max: number): Promise<void> {
  if ((await tx.count(entity)) < max) return;
  const detail = `The list already has ${max} entries, which is the limit. Delete an entry before you add another.`;
  throw new Problem('conflict', 'list.full', detail);
}
