import type { EntityManager } from 'typeorm';
import { uuidArray } from '../../../platform/database/copy-rows.js';
import { sqlState } from '../../../platform/errors/database-error.js';
import { Problem } from '../../../platform/errors/problem.js';
import { stateOf } from '../../model/asset-kind.js';
import { deadlineByIn, FACTS, verdictFactsIn } from '../../model/risk-verdict.js';
import { lockVerdictsShared } from '../../judgement/risk/rule-book.js';
import type { VerdictRow } from './judge.js';
import type { NewAssets } from './new-assets.js';
import type { PlacedAsset, Staged } from './staging.js';
import { replacePlaces, type Succession, successionsOf } from './successions.js';
import type { DraftHead } from '../../model/document.js';
import { assertFewVerdicts } from './reporter-quota.js';
import type { KnownSource } from './source-owner.js';
import {
  countForeign,
  describeAssets,
  type Describer,
  describerValues,
  MAY_DESCRIBE,
  SAYS_LESS,
} from './asset-describers.js';
import { keepFormerNames } from './source-names.js';

/** SQLSTATE query_canceled: a statement reached its timeout. */
const QUERY_CANCELED = '57014';
/** Columns of `stage_changed`: the values by which an asset is counted. */
const COUNTED = 'id, kind, verdict_id, quantum, family, bits, level, state, owner, deadline, not_after';
const COUNTED_NOW =
  'a.id, a.kind, a.verdict_id, v.quantum, v.family, v.bits, v.level, a.state, a.owner, v.deadline, a.not_after FROM asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id';
/** Merged contains the counts of merged assets, and the assets that replaced other assets. */
export interface Merged {
  readonly updated: number;
  /** Number of assets that were updated or changed state. */
  readonly changed: number;
  readonly successions: readonly Succession[];
  /** Number of assets that keep another owner's description. */
  readonly foreign: number;
}

/** PlaceScope selects locations of a source by the prefix of their context. */
export interface PlaceScope {
  /** Context prefixes that the document covers. Undefined if the document covers all locations except `others`. */
  readonly own: readonly string[] | undefined;
  /** Context prefixes that are covered by documents from individual tools. */
  readonly others: readonly string[];
}

export interface MergeOrder extends Describer {
  /** False if the source reports for the first time. */
  readonly isKnown: boolean;
  /** Whether locations that the document does not contain become missing. */
  readonly whole: boolean;
  /** Locations that can become missing. */
  readonly scope: PlaceScope;
  /** Edition of the rules with which the assets were classified. */
  readonly edition: string;
  /** Time limit of each statement of the merge, in milliseconds. */
  readonly limitMs: number;
}

/** merge merges the staging tables into the inventory with set operations. Known and unchanged rows require a lookup but no write. */
export async function merge(tx: EntityManager, order: MergeOrder, staged: Staged): Promise<Merged> {
  await limitMerge(tx, order.limitMs);
  try {
    await lockVerdictsShared(tx);
    const limited = order.mayWrite || order.owner.startsWith('system:') ? null : order.owner;
    await writeVerdicts(tx, staged.verdicts, order.edition, limited);
    return staged.differs
      ? await mergeChanges(tx, order, staged)
      : { updated: 0, changed: 0, successions: [], foreign: 0 };
  } catch (error) {
    throw sqlState(error) === QUERY_CANCELED ? tooCostlyToMerge(order.limitMs) : error;
  }
}

/**
 * Sets a timeout for each statement in a merge, because other merges wait at most 60 seconds for the merge lock. The lock timeout is shorter: the document is
 * not responsible for row locks held by other transactions, so the resulting error allows a retry.
 */
async function limitMerge(tx: EntityManager, limitMs: number): Promise<void> {
  await tx.query(
    `SET LOCAL statement_timeout = ${Math.ceil(limitMs)}; SET LOCAL lock_timeout = ${Math.ceil(limitMs / 2)}`,
  );
}

function tooCostlyToMerge(limitMs: number): Problem {
  const detail = `takes longer than ${Math.round(limitMs / 1000)} seconds to merge; send it in parts`;
  return new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
    errors: [{ pointer: '', detail }],
  });
}

/**
 * Stores new verdicts.
 *
 * @param reporter owner of the source, if a limit applies to the reporter
 * @throws Problem 422 `reporter.too-many-verdicts`
 */
export async function writeVerdicts(
  tx: EntityManager,
  verdicts: readonly VerdictRow[],
  edition: string,
  reporter: string | null = null,
): Promise<void> {
  if (verdicts.length === 0) return;
  const written: { reporter: string | null }[] = await tx.query(
    `INSERT INTO risk_verdict (id, subject, verdict, rules, kind, reporter, deadline_by, ${FACTS})
     SELECT s.id, s.subject, s.verdict, $1, s.subject ->> 'kind', CASE s.subject ->> 'kind' WHEN 'protocol' THEN $5::text END,
       ${deadlineByIn('s.verdict')}, ${verdictFactsIn('s.verdict')}
     FROM unnest($2::uuid[], $3::jsonb[], $4::jsonb[]) AS s (id, subject, verdict)
     WHERE NOT EXISTS (SELECT FROM risk_verdict v WHERE v.id = s.id) ORDER BY s.id ON CONFLICT DO NOTHING RETURNING reporter`,
    [
      edition,
      verdicts.map(({ id }) => id),
      verdicts.map(({ subject }) => JSON.stringify(subject)),
      verdicts.map(({ verdict }) => JSON.stringify(verdict)),
      reporter,
    ],
  );
  if (reporter !== null && written.some((row) => row.reporter !== null)) await assertFewVerdicts(tx, reporter);
}

async function mergeChanges(tx: EntityManager, order: MergeOrder, staged: Staged): Promise<Merged> {
  const foreign = await countForeign(tx, order);
  const updated = await updateAssets(tx, order);
  await touchStale(tx);
  const placed = order.isKnown ? await mergePlaces(tx, order, staged.placed) : [];
  await updateStates(tx);
  const successions = await successionsOf(tx, order.sourceId, placed);
  await inherit(tx, successions, staged.created, order);
  return { updated, changed: await countChanged(tx), successions, foreign };
}

/** Merges the locations and edges of the source. Returns the assets that the source reports at new locations. */
async function mergePlaces(
  tx: EntityManager,
  { sourceId, whole, scope }: MergeOrder,
  placed: readonly PlacedAsset[],
): Promise<readonly PlacedAsset[]> {
  const again = await mergeOccurrences(tx, sourceId);
  if (whole) await missPlaces(tx, sourceId, scope);
  else await replacePlaces(tx, sourceId, placed);
  // A document from a single tool does not remove relationships that other tools reported.
  await mergeRelationships(tx, sourceId, whole && scope.own === undefined);
  return again.length === 0 ? placed : [...placed, ...again];
}

/**
 * Updates the assets. Known facts are not overwritten by a document with less information (for example, without an algorithm name), or by a document that may
 * not describe another owner's asset.
 */
async function updateAssets(tx: EntityManager, describer: Describer): Promise<number> {
  await tx.query(
    `INSERT INTO stage_changed (${COUNTED})
     SELECT ${COUNTED_NOW} JOIN stage_asset s ON s.id = a.id LEFT JOIN risk_verdict n ON n.id = s.verdict_id
     WHERE a.content <> s.content AND NOT ${SAYS_LESS} AND ${MAY_DESCRIBE}
     ORDER BY a.id FOR UPDATE OF a`,
    describerValues(describer),
  );
  const updated = await countChanged(tx);
  if (updated === 0) return 0;
  await keepFormerNames(tx);
  await describeAssets(tx, describer);
  return updated;
}

/** Marks the document's inactive assets as touched. Their locations are already in the table. A known asset at a new location may have been inactive. */
async function touchStale(tx: EntityManager): Promise<void> {
  await tx.query(
    `INSERT INTO stage_touched SELECT a.id FROM stage_asset s JOIN asset a ON a.id = s.id WHERE a.state <> 'active' ON CONFLICT DO NOTHING`,
  );
}

/** Marks the reported locations as seen. Returns the locations that were missing until now, except locations of keys. */
async function mergeOccurrences(tx: EntityManager, sourceId: string): Promise<PlacedAsset[]> {
  return (await tx.query(
    `WITH found AS MATERIALIZED (
       SELECT o.asset_id, o.id, o.missed FROM asset_occurrence o JOIN stage_place s ON s.asset_id = o.asset_id AND s.id = o.id
       WHERE o.source_id = $1 AND (o.missed > 0 OR o.last_seen < now() - interval '1 hour')),
     seen AS (
       UPDATE asset_occurrence o SET last_seen = now(), missed = 0 FROM found f
       WHERE o.asset_id = f.asset_id AND o.source_id = $1 AND o.id = f.id RETURNING o.asset_id),
     touched AS (INSERT INTO stage_touched SELECT DISTINCT asset_id FROM seen ON CONFLICT DO NOTHING)
     SELECT f.asset_id AS "assetId", f.id AS "placeId", a.kind <> 'algorithm' AS "isReferring" FROM found f JOIN asset a ON a.id = f.asset_id
     WHERE f.missed > 0 AND a.kind IN ('algorithm', 'certificate', 'protocol')`,
    [sourceId],
  )) as PlacedAsset[];
}

/**
 * SQL for the source's contexts that begin with one of the prefixes. Each context is looked up by hash, once per prefix length. Comparing every context with
 * every prefix would take time quadratic in the size of the document.
 */
const COVERED = `
  start AS MATERIALIZED (SELECT DISTINCT start FROM unnest($2::text[]) AS start),
  covered AS MATERIALIZED (
    SELECT DISTINCT c.context FROM (SELECT DISTINCT context FROM asset_occurrence WHERE source_id = $1 AND context IS NOT NULL) c
    CROSS JOIN (SELECT DISTINCT length(start) AS length FROM start) l JOIN start ON start.start = left(c.context, l.length)),`;

async function missPlaces(tx: EntityManager, sourceId: string, { own, others }: PlaceScope): Promise<void> {
  const starts = own ?? others;
  const within = 'EXISTS (SELECT FROM covered c WHERE c.context = o.context)';
  const scope = own !== undefined ? `AND ${within}` : others.length > 0 ? `AND NOT ${within}` : '';
  await tx.query(
    `WITH ${scope === '' ? '' : COVERED} gone AS (
       UPDATE asset_occurrence o SET missed = missed + 1
       WHERE o.source_id = $1 ${scope} AND NOT EXISTS (SELECT FROM stage_place s WHERE s.asset_id = o.asset_id AND s.id = o.id)
       RETURNING o.asset_id)
     INSERT INTO stage_touched SELECT DISTINCT asset_id FROM gone ON CONFLICT DO NOTHING`,
    scope === '' ? [sourceId] : [sourceId, starts],
  );
}

/**
 * Merges the edges of the source. A source that reports an edge also reports the asset at the start of the edge, so the source has a location for this asset. A
 * partial scan does not remove kinds from an edge.
 */
async function mergeRelationships(tx: EntityManager, sourceId: string, whole: boolean): Promise<void> {
  const kinds = (row: string) => (whole ? `${row}.kinds` : `r.kinds | ${row}.kinds`);
  await tx.query(
    `INSERT INTO asset_relationship AS r (from_id, to_id, source_id, kinds)
     SELECT s.from_id, s.to_id, $1, s.kinds FROM stage_relationship s
     WHERE NOT EXISTS (SELECT FROM asset_relationship r
                       WHERE r.from_id = s.from_id AND r.to_id = s.to_id AND r.source_id = $1 AND r.kinds = ${kinds('s')})
     ON CONFLICT (from_id, to_id, source_id) DO UPDATE SET kinds = ${kinds('excluded')}`,
    [sourceId],
  );
  if (!whole) return;
  await tx.query(
    `DELETE FROM asset_relationship r USING (SELECT DISTINCT asset_id FROM asset_occurrence WHERE source_id = $1) o
     WHERE r.from_id = o.asset_id AND r.source_id = $1
       AND NOT EXISTS (SELECT FROM stage_relationship s WHERE s.from_id = r.from_id AND s.to_id = r.to_id)`,
    [sourceId],
  );
}

/**
 * Derives an asset's state from its occurrences. One occurrence that is not missing makes the asset active. The statement searches for a current occurrence
 * first, because an asset can have many occurrences in other sources.
 */
async function updateStates(tx: EntityManager): Promise<void> {
  await tx.query(
    `INSERT INTO stage_changed (${COUNTED}) SELECT ${COUNTED_NOW} JOIN stage_touched t ON t.id = a.id
     ORDER BY a.id FOR UPDATE OF a ON CONFLICT DO NOTHING`,
  );
  await tx.query(
    `UPDATE asset a SET state = n.state, changed_at = now()
     FROM (SELECT t.id, CASE WHEN EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = t.id AND o.missed = 0) THEN 'active'
                             ELSE (SELECT ${stateOf('o')} FROM asset_occurrence o WHERE o.asset_id = t.id HAVING count(*) > 0) END AS state
           FROM stage_touched t) n
     WHERE a.id = n.id AND a.state <> n.state`,
  );
}

/**
 * Copies the owner, the labels and the time of the first sighting from each replaced asset to the new asset. For a reporter without `inventory:write`, these
 * values are copied only if no source of another owner has reported the replaced asset. Otherwise, a reporter could take over the owner and labels that users
 * assigned to other reporters' assets.
 */
async function inherit(
  tx: EntityManager,
  successions: readonly Succession[],
  created: NewAssets,
  { owner, mayWrite }: Describer,
): Promise<void> {
  const pairs = successions.flatMap(({ ids, former }) =>
    ids.filter((id) => created.has(id)).map((id) => ({ id, former })),
  );
  if (pairs.length === 0) return;
  const values = [
    uuidArray(pairs.map(({ id }) => id)),
    uuidArray(pairs.map(({ former }) => former)),
    mayWrite ? null : owner,
  ];
  const shared = `SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id
    WHERE o.asset_id = u.former AND i.owner IS DISTINCT FROM $3`;
  const heirs = `(SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS u (id, former) WHERE $3::text IS NULL OR NOT EXISTS (${shared})) s
    JOIN asset f ON f.id = s.former`;
  await tx.query(
    `INSERT INTO stage_changed (${COUNTED}) SELECT ${COUNTED_NOW} JOIN (${heirs}) ON s.id = a.id WHERE f.owner IS NOT NULL ON CONFLICT DO NOTHING`,
    values,
  );
  await tx.query(
    `UPDATE asset a SET owner = f.owner, labels = f.labels, first_seen = least(a.first_seen, f.first_seen) FROM ${heirs} WHERE a.id = s.id`,
    values,
  );
}

async function countChanged(tx: EntityManager): Promise<number> {
  const [row] = (await tx.query('SELECT count(*)::int AS count FROM stage_changed')) as { count: number }[];
  return row?.count ?? 0;
}

/** ReadAgain is the result of rereading a stored asset. */
export interface ReadAgain {
  readonly id: string;
  /** Verdict of the asset at the time when the asset was read. */
  readonly before: string | null;
  readonly verdictId: string | null;
  readonly resolvedBy: string | null;
  readonly content: string;
}

/** mergeReadings updates the verdicts of assets, except for assets that a document changed in the meantime. Returns the number of updated assets. */
export async function mergeReadings(tx: EntityManager, assets: readonly ReadAgain[]): Promise<number> {
  const ids = uuidArray(assets.map(({ id }) => id));
  await tx.query(
    `INSERT INTO stage_changed (${COUNTED}) SELECT ${COUNTED_NOW} JOIN unnest($1::uuid[], $2::uuid[]) AS s (id, before) ON s.id = a.id
     WHERE a.verdict_id IS NOT DISTINCT FROM s.before ORDER BY a.id FOR UPDATE OF a`,
    [ids, assets.map(({ before }) => before)],
  );
  await tx.query(
    `UPDATE asset a SET verdict_id = s.verdict_id, resolved_by = s.resolved_by::json, content = s.content, changed_at = now()
     FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS s (id, verdict_id, resolved_by, content)
     JOIN stage_changed c ON c.id = s.id WHERE a.id = s.id`,
    [
      ids,
      assets.map(({ verdictId }) => verdictId),
      assets.map(({ resolvedBy }) => resolvedBy),
      uuidArray(assets.map(({ content }) => content)),
    ],
  );
  return countChanged(tx);
}

/** scopeOf returns the scope of a document: the source's locations that become missing if the document does not contain the location. */
export function scopeOf({ replaces }: DraftHead, { toolContexts }: KnownSource): PlaceScope {
  if (replaces === undefined) return { own: undefined, others: toolContexts };
  // Context prefixes in the previous version's format apply until a document from the source uses the prefix.
  const used = new Set(toolContexts);
  const former = replaces.former.filter((start) => !used.has(start));
  return { own: [...new Set([...replaces.contexts, ...former])], others: [] };
}
