import type { EntityManager } from 'typeorm';
import { ASSET_KINDS } from '../model/asset-kind.js';
import { keepSourceCount } from '../assets/source-count.js';
import { addToTally, tallied } from '../model/tally.js';
import type { VerdictFacts } from '../model/verdict-facts.js';
import type { NewAssetFacts, NewAssets } from './new-assets.js';

/** One of eight: documents that come at the same time seldom wait for each other. */
const SLOT = 'floor(random() * 8)::int';

/** Adds new assets to the running counts. */
export async function countNew(tx: EntityManager, created: NewAssets): Promise<void> {
  if (created.total === 0) return;
  created.learn(await factsOf(tx, created.verdictIds()));
  const counts = created.counts();
  const counted = `
    SELECT n.count AS step, n.level, ARRAY[n.dimension] AS dimension, ARRAY[n.value] AS value
    FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[]) AS n(dimension, value, level, count)`;
  await tx.query(addToTally(counted, SLOT), [
    counts.map(({ dimension }) => dimension),
    counts.map(({ value }) => value),
    counts.map(({ level }) => level),
    counts.map(({ count }) => count),
  ]);
}

async function factsOf(tx: EntityManager, verdictIds: readonly string[]): Promise<NewAssetFacts> {
  const rows = (await tx.query(
    `SELECT id, family, bits, level, quantum, classical, rule, deadline::text FROM risk_verdict WHERE id = ANY($1::uuid[])`,
    [verdictIds],
  )) as (VerdictFacts & { readonly id: string })[];
  return new Map(rows.map((row) => [row.id, row]));
}

/** Adds the differences of what has changed to the running counts: what it is and what it was before. */
export async function tallyChanges(tx: EntityManager): Promise<void> {
  const changes = `
    SELECT 1 AS step, ${tallied('a')} FROM judged_asset a JOIN stage_changed b ON b.id = a.id WHERE a.kind = ANY($1)
    UNION ALL SELECT -1, ${tallied('b')} FROM stage_changed b WHERE b.kind = ANY($1)`;
  await tx.query(addToTally(changes, SLOT), [ASSET_KINDS]);
}

export async function askForRecount(tx: EntityManager, sourceId: string): Promise<void> {
  await tx.query('INSERT INTO inventory_recount (source_id) VALUES ($1)', [sourceId]);
}

/** Of the other sources that show what has changed. */
export async function askSharersForRecount(tx: EntityManager, sourceId: string): Promise<void> {
  await tx.query(
    `INSERT INTO inventory_recount (source_id) SELECT DISTINCT o.source_id FROM asset_occurrence o JOIN stage_changed c ON c.id = o.asset_id
     WHERE o.source_id <> $1`,
    [sourceId],
  );
}

/**
 * As SourceCounter would, which would have to read them all again. What was there before stays as it is until this is committed: whoever
 * changes it asks for a recount of the sources that he sees, and does not see this one yet.
 */
export async function countNewSource(
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
    counts.map(({ count }) => count),
    known,
  ]);
}
