import type { EntityManager } from 'typeorm';
import { ASSET_KINDS } from '../../model/asset-kind.js';
import type { VerdictFacts } from '../../model/risk-verdict.js';
import { addToTally, keepSourceCount, tallied } from '../../model/tally.js';
import type { FactsById, NewAssets } from './new-assets.js';

/** SQL for one of eight slots, so that concurrent transactions rarely wait for the same row. */
const SLOT = 'floor(random() * 8)::int';
/**
 * MAX_COUNTED_AT_ONCE is the maximum number of known assets for which a new source is counted immediately, while other documents wait. A source with more
 * known assets is counted later.
 */
const MAX_COUNTED_AT_ONCE = 1000;

/** Changes contains the assets that a document added and changed. */
export interface Changes {
  readonly created: NewAssets;
  /** IDs of the assets in a new source that already existed; empty for a known source. */
  readonly known: readonly string[];
  readonly isKnown: boolean;
  /** Number of assets in `stage_changed`. */
  readonly changed: number;
}

/** count updates the running counts after the changes of the transaction. */
export async function count(tx: EntityManager, sourceId: string, changes: Changes): Promise<void> {
  const { created, known, isKnown, changed } = changes;
  await countNew(tx, created);
  if (changed > 0) await tallyChanges(tx);
  if (isKnown || known.length > MAX_COUNTED_AT_ONCE) await askForRecount(tx, sourceId);
  else await countNewSource(tx, sourceId, created, known);
  if (changed > 0) await markSharersForRecount(tx, sourceId);
}

async function countNew(tx: EntityManager, created: NewAssets): Promise<void> {
  if (created.total === 0) return;
  created.setFacts(await factsOf(tx, created.verdictIds()));
  const counts = created.counts();
  const counted = `
    SELECT n.count AS step, n.level, ARRAY[n.dimension] AS dimension, ARRAY[n.value] AS value
    FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[]) AS n(dimension, value, level, count)`;
  await tx.query(addToTally(counted, SLOT), [
    counts.map(({ dimension }) => dimension),
    counts.map(({ value }) => value),
    counts.map(({ level }) => level),
    counts.map(({ count: number }) => number),
  ]);
}

async function factsOf(tx: EntityManager, verdictIds: readonly string[]): Promise<FactsById> {
  const rows = (await tx.query(
    `SELECT id, family, bits, level, quantum, classical, rule, deadline::text FROM risk_verdict WHERE id = ANY($1::uuid[])`,
    [verdictIds],
  )) as (VerdictFacts & { readonly id: string })[];
  return new Map(rows.map((row) => [row.id, row]));
}

/** Adds the current values of the changed assets to the counts and subtracts the previous values. */
async function tallyChanges(tx: EntityManager): Promise<void> {
  const changes = `
    SELECT 1 AS step, ${tallied('a')} FROM judged_asset a JOIN stage_changed b ON b.id = a.id WHERE a.kind = ANY($1)
    UNION ALL SELECT -1, ${tallied('b')} FROM stage_changed b WHERE b.kind = ANY($1)`;
  await tx.query(addToTally(changes, SLOT), [ASSET_KINDS]);
}

async function askForRecount(tx: EntityManager, sourceId: string): Promise<void> {
  await tx.query('INSERT INTO inventory_recount (source_id) VALUES ($1)', [sourceId]);
}

/** Requests a recount of the other sources that contain changed assets. */
async function markSharersForRecount(tx: EntityManager, sourceId: string): Promise<void> {
  await tx.query(
    `INSERT INTO inventory_recount (source_id) SELECT DISTINCT o.source_id FROM asset_occurrence o JOIN stage_changed c ON c.id = o.asset_id
     WHERE o.source_id <> $1`,
    [sourceId],
  );
}

/**
 * Counts a new source like SourceCounter, but without rereading all its assets. FOR SHARE locks the known assets until the commit. Without the lock, a
 * concurrent transaction could change a known asset without requesting a recount of this source, which is not visible to that transaction yet.
 */
async function countNewSource(
  tx: EntityManager,
  sourceId: string,
  created: NewAssets,
  known: readonly string[],
): Promise<void> {
  const counts = created.counts().filter(({ dimension }) => dimension === 'state');
  const counted = `
    SELECT * FROM unnest($2::smallint[], $3::bigint[])
    UNION ALL SELECT coalesce(v.level, -1), count(*)
    FROM (SELECT verdict_id FROM asset WHERE id = ANY($4) ORDER BY id FOR SHARE) k LEFT JOIN risk_verdict v ON v.id = k.verdict_id
    GROUP BY 1`;
  await tx.query(keepSourceCount(counted), [
    sourceId,
    counts.map(({ level }) => level),
    counts.map(({ count: number }) => number),
    known,
  ]);
}
