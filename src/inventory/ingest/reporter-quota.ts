import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';

interface Reported {
  readonly owner: string;
  readonly sourceId: string;
  /** Number of assets in the document. */
  readonly received: number;
}

/**
 * assertRoom refuses a document that would raise the number of assets in the sources of one reporter above the limit: a key that may only report must not fill
 * the database. The counts of the other sources are some seconds old.
 *
 * @throws Problem 422 `reporter.too-many-assets`
 */
export async function assertRoom(
  tx: EntityManager,
  { owner, sourceId, received }: Reported,
  maxAssets: number,
): Promise<void> {
  const [row] = (await tx.query(
    `SELECT coalesce(sum(c.total), 0)::float8 AS total FROM inventory_source i JOIN inventory_source_count c ON c.source_id = i.id
     WHERE i.owner = $1 AND i.id <> $2`,
    [owner, sourceId],
  )) as { total: number }[];
  const total = (row?.total ?? 0) + received;
  if (total <= maxAssets) return;
  const detail = `With this document your sources show ${total} assets; the maximum for one reporter is ${maxAssets}. Report fewer, delete sources, use a key with the scope inventory:write, or have the operator raise SVC_REPORTER_MAX_ASSETS.`;
  throw new Problem('refused', 'reporter.too-many-assets', detail);
}
