import type { EntityManager } from 'typeorm';
import { Problem } from '../../../platform/errors/problem.js';

interface Reported {
  readonly owner: string;
  readonly sourceId: string;
  /** Number of assets in the document. */
  readonly received: number;
  /** Number of locations and edges in the document. */
  readonly rows: number;
}

/** ROWS_PER_ASSET is the maximum average number of locations and edges per asset. Locations from a source's earlier documents remain in the database. */
const ROWS_PER_ASSET = 5;

/**
 * assertRoom rejects a document with which the total number of assets, or of locations and edges, in all sources of one reporter would exceed the limit. A key
 * without the `inventory:write` scope therefore cannot fill the database. The counts for the reporter's other sources are a few seconds old.
 *
 * @throws Problem 422 `reporter.too-many-assets`
 */
export async function assertRoom(
  tx: EntityManager,
  { owner, sourceId, received, rows }: Reported,
  maxAssets: number,
): Promise<void> {
  const [row] = (await tx.query(
    `SELECT coalesce(sum(c.total), 0)::float8 AS total FROM inventory_source i JOIN inventory_source_count c ON c.source_id = i.id
     WHERE i.owner = $1 AND i.id <> $2`,
    [owner, sourceId],
  )) as { total: number }[];
  const total = (row?.total ?? 0) + received;
  if (total > maxAssets) throw tooMany(total, 'assets', maxAssets);
  const maxRows = maxAssets * ROWS_PER_ASSET;
  const [stored] = (await tx.query(
    `SELECT count(*)::float8 AS rows FROM (
       SELECT FROM inventory_source i JOIN asset_occurrence o ON o.source_id = i.id WHERE i.owner = $1 LIMIT $2) o`,
    [owner, maxRows + 1],
  )) as { rows: number }[];
  const all = (stored?.rows ?? 0) + rows;
  if (all > maxRows) throw tooMany(all, 'locations and relationships', maxRows);
}

/** Maximum number of protocol verdicts for one reporter's documents. Each set of cipher suites has a verdict, and other pages load all verdicts. */
const MAX_PROTOCOL_VERDICTS = 2000;

/**
 * assertFewVerdicts rejects a document whose new verdicts exceed the reporter's limit. Existing verdicts do not count toward the limit.
 *
 * @throws Problem 422 `reporter.too-many-verdicts`
 */
export async function assertFewVerdicts(tx: EntityManager, reporter: string): Promise<void> {
  const [row] = (await tx.query(
    `SELECT count(*)::int AS count FROM (SELECT FROM risk_verdict WHERE reporter = $1 LIMIT ${MAX_PROTOCOL_VERDICTS + 1}) v`,
    [reporter],
  )) as { count: number }[];
  if ((row?.count ?? 0) <= MAX_PROTOCOL_VERDICTS) return;
  const detail = `The number of different sets of cipher suites in your documents exceeds the maximum of ${MAX_PROTOCOL_VERDICTS} per reporter. Report only known sets, or use a key with the inventory:write scope.`;
  throw new Problem('refused', 'reporter.too-many-verdicts', detail);
}

function tooMany(total: number, things: string, most: number): Problem {
  const detail = `With this document, your sources would report ${total} ${things}; the maximum per reporter is ${most}. Report fewer ${things}, delete sources, use a key with the inventory:write scope, or ask the operator to raise SVC_REPORTER_MAX_ASSETS.`;
  return new Problem('refused', 'reporter.too-many-assets', detail);
}
