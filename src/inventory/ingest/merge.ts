import type { EntityManager } from 'typeorm';
import { MISSED_UNTIL_RESOLVED } from '../model/asset-kind.js';
import { FACTS, verdictFactsIn } from '../model/verdict-facts.js';
import { holdVerdicts } from '../risk/verdict-lock.js';
import type { VerdictRow } from './asset-rows.js';
import { askForRecount, askSharersForRecount, countNew, countNewSource, tallyChanges } from './merge-counts.js';
import type { NewAssets } from './new-assets.js';

const COLUMNS = 'kind, name, verdict_id, resolved_by, not_before, not_after, component, content';
/** Of `stage_changed`: what is counted of an asset. */
const COUNTED = 'id, kind, verdict_id, quantum, family, bits, level, state, owner, deadline, not_after';
const COUNTED_NOW =
  'a.id, a.kind, a.verdict_id, v.quantum, v.family, v.bits, v.level, a.state, a.owner, v.deadline, a.not_after FROM asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id';
/** Assets of a new source that are looked at while others wait. */
const FEW_KNOWN = 1000;

export interface Merged {
  readonly created: number;
  readonly updated: number;
}

/** Places of a source by what their contexts start with. */
export interface PlaceScope {
  /** Those that the document speaks of; undefined is all but `others`. */
  readonly own: readonly string[] | undefined;
  /** Those that documents of single tools speak of. */
  readonly others: readonly string[];
}

export interface MergeOrder {
  readonly sourceId: string;
  /** false: the source reports for the first time. */
  readonly isKnown: boolean;
  /** What the source said before and does not say now is missing. */
  readonly whole: boolean;
  /** Which places of the source that holds for. */
  readonly scope: PlaceScope;
  /** Edition of the rules that judged. */
  readonly rules: string;
  /** In the table already. */
  readonly created: NewAssets;
  /** Of a new source: the assets of its document that were there before. */
  readonly known: readonly string[];
  /** Something that was there before may be another thing now. */
  readonly differs: boolean;
  readonly verdicts: readonly VerdictRow[];
}

/** Brings the staging tables into the inventory, set by set. What is there already and says the same costs a look-up and no write. */
export async function merge(tx: EntityManager, order: MergeOrder): Promise<Merged> {
  const { sourceId, isKnown, rules, created, known, differs, verdicts } = order;
  await holdVerdicts(tx);
  await writeVerdicts(tx, verdicts, rules);
  const { updated, changed } = differs ? await mergeChanges(tx, order) : { updated: 0, changed: 0 };
  await countNew(tx, created);
  if (changed > 0) await tallyChanges(tx);
  if (isKnown || known.length > FEW_KNOWN) await askForRecount(tx, sourceId);
  else await countNewSource(tx, sourceId, created, known);
  if (changed > 0) await askSharersForRecount(tx, sourceId);
  return { created: created.total, updated };
}

async function writeVerdicts(tx: EntityManager, verdicts: readonly VerdictRow[], rules: string): Promise<void> {
  if (verdicts.length === 0) return;
  await tx.query(
    `INSERT INTO risk_verdict (id, subject, verdict, rules, kind, ${FACTS})
     SELECT s.id, s.subject, s.verdict, $1, s.subject ->> 'kind', ${verdictFactsIn('s.verdict')}
     FROM unnest($2::uuid[], $3::jsonb[], $4::jsonb[]) AS s (id, subject, verdict)
     WHERE NOT EXISTS (SELECT FROM risk_verdict v WHERE v.id = s.id) ORDER BY s.id ON CONFLICT DO NOTHING`,
    [
      rules,
      verdicts.map(({ id }) => id),
      verdicts.map(({ subject }) => JSON.stringify(subject)),
      verdicts.map(({ verdict }) => JSON.stringify(verdict)),
    ],
  );
}

async function mergeChanges(tx: EntityManager, { sourceId, isKnown, whole, scope }: MergeOrder) {
  const updated = await updateAssets(tx);
  await touchStale(tx);
  if (isKnown) {
    await mergeOccurrences(tx, sourceId);
    if (whole) await missPlaces(tx, sourceId, scope);
    // A single tool tells of no relationships.
    await mergeRelationships(tx, sourceId, whole && scope.own === undefined);
  }
  await updateStates(tx);
  return { updated, changed: await countChanged(tx) };
}

/** A document that says less than is known (an algorithm that it does not name) takes nothing back. */
async function updateAssets(tx: EntityManager): Promise<number> {
  await tx.query(
    `INSERT INTO stage_changed (${COUNTED})
     SELECT ${COUNTED_NOW} JOIN stage_asset s ON s.id = a.id LEFT JOIN risk_verdict n ON n.id = s.verdict_id
     WHERE a.content <> s.content AND NOT (n.quantum = 'unknown' AND v.quantum <> 'unknown')
     ORDER BY a.id FOR UPDATE OF a`,
  );
  const updated = await countChanged(tx);
  if (updated === 0) return 0;
  const sets = COLUMNS.split(', ')
    .map((name) => `${name} = s.${name}`)
    .join(', ');
  await tx.query(
    `UPDATE asset a SET ${sets}, changed_at = now() FROM stage_asset s JOIN stage_changed c ON c.id = s.id WHERE a.id = s.id`,
  );
  return updated;
}

/** Places are in the table already; a known asset at a new place may have been stale. */
async function touchStale(tx: EntityManager): Promise<void> {
  await tx.query(
    `INSERT INTO stage_touched SELECT a.id FROM stage_asset s JOIN asset a ON a.id = s.id WHERE a.state <> 'active' ON CONFLICT DO NOTHING`,
  );
}

async function mergeOccurrences(tx: EntityManager, sourceId: string): Promise<void> {
  await tx.query(
    `WITH seen AS (
       UPDATE asset_occurrence o SET last_seen = now(), missed = 0 FROM stage_place s
       WHERE o.asset_id = s.asset_id AND o.source_id = $1 AND o.id = s.id AND (o.missed > 0 OR o.last_seen < now() - interval '1 hour')
       RETURNING o.asset_id)
     INSERT INTO stage_touched SELECT DISTINCT asset_id FROM seen ON CONFLICT DO NOTHING`,
    [sourceId],
  );
}

async function missPlaces(tx: EntityManager, sourceId: string, { own, others }: PlaceScope): Promise<void> {
  const starts = own ?? others;
  const within = 'EXISTS (SELECT FROM unnest($2::text[]) AS start WHERE starts_with(o.context, start))';
  const scope = own !== undefined ? `AND ${within}` : others.length > 0 ? `AND NOT ${within}` : '';
  await tx.query(
    `WITH gone AS (
       UPDATE asset_occurrence o SET missed = missed + 1
       WHERE o.source_id = $1 ${scope} AND NOT EXISTS (SELECT FROM stage_place s WHERE s.asset_id = o.asset_id AND s.id = o.id)
       RETURNING o.asset_id)
     INSERT INTO stage_touched SELECT DISTINCT asset_id FROM gone ON CONFLICT DO NOTHING`,
    scope === '' ? [sourceId] : [sourceId, starts],
  );
}

/** Whoever tells of an edge tells of the asset that it leaves, so that its place is known. A part of a scan takes no kind of an edge back. */
async function mergeRelationships(tx: EntityManager, sourceId: string, whole: boolean): Promise<void> {
  const kinds = (told: string) => (whole ? `${told}.kinds` : `r.kinds | ${told}.kinds`);
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

/** The state follows from the occurrences: one that is not missed makes the asset active. */
async function updateStates(tx: EntityManager): Promise<void> {
  await tx.query(
    `INSERT INTO stage_changed (${COUNTED}) SELECT ${COUNTED_NOW} JOIN stage_touched t ON t.id = a.id
     ORDER BY a.id FOR UPDATE OF a ON CONFLICT DO NOTHING`,
  );
  await tx.query(
    `UPDATE asset a SET state = n.state, changed_at = now()
     FROM (SELECT t.id, CASE WHEN min(o.missed) = 0 THEN 'active' WHEN min(o.missed) >= $1 THEN 'resolved' ELSE 'stale' END AS state
           FROM stage_touched t JOIN asset_occurrence o ON o.asset_id = t.id GROUP BY t.id) n
     WHERE a.id = n.id AND a.state <> n.state`,
    [MISSED_UNTIL_RESOLVED],
  );
}

async function countChanged(tx: EntityManager): Promise<number> {
  const [row] = (await tx.query('SELECT count(*)::int AS count FROM stage_changed')) as { count: number }[];
  return row?.count ?? 0;
}
