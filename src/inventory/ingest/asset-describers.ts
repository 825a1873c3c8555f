import type { EntityManager } from 'typeorm';
import type { Remark } from '../model/document.js';

/**
 * Describer contains the facts about a document's reporter that determine what the document may change about assets that other sources also contain.
 */
export interface Describer {
  readonly sourceId: string;
  /** Owner of the source, as in `inventory_source.owner`. */
  readonly owner: string;
  /** Whether the caller has `inventory:write` and may therefore describe the assets of all owners. */
  readonly mayWrite: boolean;
}

/** SQL: the source `i` belongs to a different owner than the Describer's source; $1 and $2 are sourceId and owner. */
const IS_OTHERS = 'i.id <> $1 AND i.owner IS DISTINCT FROM $2';

/** SQL: a source of another owner also contains the asset `a`. */
const SHOWN_BY_OTHERS = `EXISTS (
  SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id WHERE o.asset_id = a.id AND o.missed = 0 AND ${IS_OTHERS})`;

/** SQL: the source that describes the asset `a` belongs to another owner. */
const DESCRIBED_BY_OTHERS = `EXISTS (
  SELECT FROM (
    SELECT o.source_id FROM asset_occurrence o WHERE o.asset_id = a.id AND o.missed = 0
    ORDER BY (o.source_id = a.described_by) DESC NULLS LAST, o.first_seen, o.source_id LIMIT 1) d
  JOIN inventory_source i ON i.id = d.source_id WHERE ${IS_OTHERS})`;

const LEVEL = 'coalesce(v.level, -1)';
const NEW_LEVEL = 'coalesce(n.level, -1)';
const NEW_END = `coalesce(s.not_after, 'infinity')`;
/**
 * SQL: an expiry that another owner moved to an earlier date and that has passed. It is ignored, because it would otherwise hide the actual expiry.
 */
const HAS_LAPSED = '(a.not_after <= now() AND a.not_after < a.floor_not_after)';
const END = `CASE WHEN ${HAS_LAPSED} THEN a.floor_not_after ELSE a.not_after END`;
/** SQL: the new description is not better than the one that other owners gave before the current describer made it worse. */
const IS_ABOVE_FLOOR = `(${NEW_LEVEL} >= coalesce(a.floor_level, -1) AND ${NEW_END} <= coalesce(a.floor_not_after, 'infinity'))`;
const IS_HIGHER = `${NEW_LEVEL} > ${LEVEL}`;
/**
 * SQL: the new description has an earlier expiry that is in the future. An expiry in the past would hide the actual expiry instead of reporting it.
 */
const ENDS_EARLIER = `(s.not_after > now() AND (${HAS_LAPSED} OR ${NEW_END} < coalesce(a.not_after, 'infinity')))`;
const IS_WORSE = `(${IS_HIGHER} OR ${ENDS_EARLIER})`;
/** SQL: the quantum status of the asset is unknown, and the new description is not better. A level can also follow from other facts. */
const IS_UNKNOWN = `(v.quantum IS NOT DISTINCT FROM 'unknown' AND ${NEW_LEVEL} >= ${LEVEL} AND ${NEW_END} <= coalesce(a.not_after, 'infinity'))`;

/**
 * SQL: a document may replace the whole description of a known asset `a` with verdict `v` by the description in `s` with verdict `n`. $1 to $3 are
 * sourceId, owner and mayWrite of the Describer.
 *
 * A certificate or key is one asset for all its reporters, and a document can claim any fingerprint. Therefore, one of the sources that report an
 * asset describes it: the source that last made the description worse (`described_by`), otherwise the source that has reported the asset longest. The
 * describer cannot make the description better than it was before that source became the describer (`floor_level`, `floor_not_after`), unless no
 * other owner reports the asset.
 */
const IS_FREE = `($3 OR ${IS_UNKNOWN} OR NOT ${DESCRIBED_BY_OTHERS} AND (${IS_ABOVE_FLOOR} OR NOT ${SHOWN_BY_OTHERS}))`;

/** MAY_DESCRIBE is SQL like IS_FREE, but is also true if a document makes the description of another owner worse and may therefore change it in part. */
export const MAY_DESCRIBE = `(${IS_FREE} OR ${IS_WORSE})`;

/** SAYS_LESS is SQL: the new description does not state the known quantum status of the asset, and its level is not higher. */
export const SAYS_LESS = `(n.quantum = 'unknown' AND v.quantum <> 'unknown' AND NOT ${IS_HIGHER})`;

/** Columns that a document describes. */
const DESCRIBED = ['kind', 'name', 'verdict_id', 'resolved_by', 'not_before', 'component'];

/**
 * describeAssets updates the assets of stage_changed from the staged document. From another owner's document, it takes only what is worse: the higher
 * level with everything that leads to it, and the earlier expiry. A description that mixes two documents gets its own content hash, so that either
 * document can correct the description.
 */
export async function describeAssets(tx: EntityManager, describer: Describer): Promise<void> {
  const sets = DESCRIBED.map((name) => `${name} = CASE WHEN x.is_kept THEN a.${name} ELSE s.${name} END`).join(', ');
  await tx.query(
    `WITH x AS MATERIALIZED (
       SELECT a.id, v.level, NOT f.is_free AS is_foreign, NOT f.is_free AND NOT ${IS_HIGHER} AS is_kept, $3 OR NOT ${SHOWN_BY_OTHERS} AS is_alone,
         NOT f.is_free OR NOT $3 AND ${DESCRIBED_BY_OTHERS} AS takes_over
       FROM stage_changed c JOIN asset a ON a.id = c.id JOIN stage_asset s ON s.id = a.id
       LEFT JOIN risk_verdict v ON v.id = a.verdict_id LEFT JOIN risk_verdict n ON n.id = s.verdict_id
       CROSS JOIN LATERAL (SELECT ${IS_FREE} AS is_free) f)
     UPDATE asset a SET ${sets}, described_by = $1, changed_at = now(),
       content = CASE WHEN x.is_kept THEN md5(a.content::text || s.content::text)::uuid ELSE s.content END,
       not_after = CASE WHEN NOT x.is_foreign THEN s.not_after WHEN s.not_after > now() THEN least(${END}, s.not_after) ELSE ${END} END,
       floor_level = CASE WHEN x.takes_over THEN greatest(a.floor_level, x.level) WHEN NOT x.is_alone THEN a.floor_level END,
       floor_not_after = CASE WHEN x.takes_over THEN least(a.floor_not_after, ${END}) WHEN NOT x.is_alone THEN a.floor_not_after END
     FROM x JOIN stage_asset s ON s.id = x.id WHERE a.id = x.id`,
    describerValues(describer),
  );
}

/** describerValues returns the parameters of MAY_DESCRIBE. */
export function describerValues({ sourceId, owner, mayWrite }: Describer): unknown[] {
  return [sourceId, owner, mayWrite];
}

/**
 * countForeign counts the staged assets that keep the description of another owner. Algorithms are excluded, because all reporters share them and spell them in
 * many ways, so reporters get no warning about them.
 */
export async function countForeign(tx: EntityManager, describer: Describer): Promise<number> {
  if (describer.mayWrite) return 0;
  const [row] = (await tx.query(
    `SELECT count(*)::int AS count FROM stage_asset s JOIN asset a ON a.id = s.id
       LEFT JOIN risk_verdict v ON v.id = a.verdict_id LEFT JOIN risk_verdict n ON n.id = s.verdict_id
     WHERE a.content <> s.content AND a.kind <> 'algorithm' AND NOT ${SAYS_LESS} AND NOT ${MAY_DESCRIBE}`,
    describerValues(describer),
  )) as { count: number }[];
  return row?.count ?? 0;
}

/** foreignRemarks returns the warning about assets that keep the description of another owner; none if `count` is 0. */
export function foreignRemarks(count: number): Remark[] {
  if (count === 0) return [];
  const detail = `${count} assets are described differently by another owner and keep that description; only a worse verdict or an earlier expiry is adopted. Use a key with the scope inventory:write to describe them.`;
  return [{ pointer: '', code: 'asset.described-by-another', detail }];
}
