import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { Problem } from '../errors/problem.js';

/**
 * assertListed refuses another row of a list that has no pages and shows at most `max` rows: a row that the list does not show would stay in effect unseen.
 *
 * @throws Problem `list.full`
 */
export async function assertListed(tx: EntityManager, entity: EntityTarget<ObjectLiteral>, max: number): Promise<void> {
  if ((await tx.count(entity)) < max) return;
  const detail = `The list has ${max} entries and cannot show more. Remove one first.`;
  throw new Problem('conflict', 'list.full', detail);
}
