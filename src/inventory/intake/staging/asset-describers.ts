import type { EntityManager } from 'typeorm';
import type { Remark } from '../../model/document.js';

/** Describer contains facts about a document's reporter. The facts determine what the document may change about assets that other sources also report. */
export interface Describer {
  readonly sourceId: string;
  /** Owner of the source, as in `inventory_source.owner`. */
  readonly owner: string;
  /** Whether the caller has `inventory:write` and may therefore describe the assets of any owner. */
  readonly mayWrite: boolean;
}

/** SQL condition: source `i` does not belong to the owner of the Describer's source. $1 and $2 are sourceId and owner. */
const IS_OTHERS = 'i.id <> $1 AND i.owner IS DISTINCT FROM $2';

/** SQL condition: another owner's source also contains asset `a`. */
const SHOWN_BY_OTHERS = `EXISTS (
  SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id WHERE o.asset_id = a.id AND o.missed = 0 AND ${IS_OTHERS})`;

/** SQL condition: the source that describes asset `a` belongs to another owner. */
const DESCRIBED_BY_OTHERS = `EXISTS (
  SELECT FROM (
    SELECT o.source_id FROM asset_occurrence o WHERE o.asset_id = a.id AND o.missed = 0
    ORDER BY (o.source_id = a.described_by) DESC NULLS LAST, o.first_seen, o.source_id LIMIT 1) d
  JOIN inventory_source i ON i.id = d.source_id WHERE ${IS_OTHERS})`;

const LEVEL = 'coalesce(v.level, -1)';
const NEW_LEVEL = 'coalesce(n.level, -1)';
/** SQL condition: an earlier version of a document set an earlier expiry, which has passed. The expiry reported by other owners then applies again. */
const HAS_LAPSED = '(a.not_after <= now() AND a.not_after < a.floor_not_after)';
const END = `CASE WHEN ${HAS_LAPSED} THEN a.floor_not_after ELSE a.not_after END`;
const IS_HIGHER = `${NEW_LEVEL} > ${LEVEL}`;
/** SQL condition: the new description was parsed from the bytes that identify the asset, and the stored description was not. */
const IS_PROOF = '(s.proven AND NOT a.proven)';
const IS_REFUTED = '(a.proven AND NOT s.proven)';

/**
 * SQL condition: a document may replace the whole description of stored asset `a` (verdict `v`) with the description in `s` (verdict `n`). $1 to $3 are
 * sourceId, owner and mayWrite of the Describer.
 *
 * A certificate or key is one asset for all its reporters, and a document can claim any fingerprint. If a document contains the bytes of a certificate, these
 * bytes describe the asset, regardless of the sender. Otherwise, one of the sources that report an asset describes the asset: the source that last raised the
 * level (`described_by`), or else the source that has reported the asset for the longest time. This source cannot lower the level below the level that other
 * owners reported before the source became the describer (`floor_level`), unless no other owner reports the asset.
 */
const IS_FREE = `($3 OR ${IS_PROOF} OR NOT ${DESCRIBED_BY_OTHERS} AND (${NEW_LEVEL} >= coalesce(a.floor_level, -1) OR NOT ${SHOWN_BY_OTHERS}))`;

/**
 * MAY_DESCRIBE is an SQL condition like IS_FREE, but is also true if a document reports a higher level than another owner's description. If the asset's bytes
 * are known, the condition is false for a document without the bytes, even with mayWrite.
 */
export const MAY_DESCRIBE = `(NOT ${IS_REFUTED} AND (${IS_FREE} OR ${IS_HIGHER}))`;

/** SAYS_LESS is an SQL condition: the quantum status is known in the stored description but not in the new description, whose level is not higher. */
export const SAYS_LESS = `(n.quantum = 'unknown' AND v.quantum <> 'unknown' AND NOT ${IS_HIGHER} AND NOT ${IS_PROOF})`;

/** Columns that a document describes, except the expiry. */
const DESCRIBED = ['kind', 'name', 'verdict_id', 'resolved_by', 'not_before', 'component', 'content', 'proven'];

/**
 * describeAssets updates the assets in stage_changed from the staged document. If another owner describes an asset, the document replaces the description only
 * to raise the level, and the expiry reported by other owners remains.
 */
export async function describeAssets(tx: EntityManager, describer: Describer): Promise<void> {
  const sets = DESCRIBED.map((name) => `${name} = s.${name}`).join(', ');
  await tx.query(
    `WITH x AS MATERIALIZED (
       SELECT a.id, v.level, NOT f.is_free AS is_foreign, $3 OR ${IS_PROOF} OR NOT ${SHOWN_BY_OTHERS} AS is_alone
       FROM stage_changed c JOIN asset a ON a.id = c.id JOIN stage_asset s ON s.id = a.id
       LEFT JOIN risk_verdict v ON v.id = a.verdict_id LEFT JOIN risk_verdict n ON n.id = s.verdict_id
       CROSS JOIN LATERAL (SELECT ${IS_FREE} AS is_free) f)
     UPDATE asset a SET ${sets}, described_by = $1, changed_at = now(),
       not_after = CASE WHEN x.is_foreign OR NOT x.is_alone AND a.floor_level IS NOT NULL THEN ${END} ELSE s.not_after END,
       floor_level = CASE WHEN x.is_foreign THEN greatest(a.floor_level, x.level) WHEN NOT x.is_alone THEN a.floor_level END,
       floor_not_after = CASE WHEN x.is_foreign THEN least(a.floor_not_after, ${END}) WHEN NOT x.is_alone THEN a.floor_not_after END
     FROM x JOIN stage_asset s ON s.id = x.id WHERE a.id = x.id`,
    describerValues(describer),
  );
}

/** describerValues returns the parameters of MAY_DESCRIBE. */
export function describerValues({ sourceId, owner, mayWrite }: Describer): unknown[] {
  return [sourceId, owner, mayWrite];
}

/**
 * countForeign counts the staged assets that keep another owner's description. Algorithms are excluded, because all reporters share algorithms and use
 * different names for the same algorithm. Reporters therefore get no warning about algorithms.
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

/** foreignRemarks returns the warning about assets that keep another owner's description, or an empty list if `count` is 0. */
export function foreignRemarks(count: number): Remark[] {
  if (count === 0) return [];
  const detail = `${count} assets are described differently by another owner and keep that description; only a higher level is adopted. Send the certificates themselves, or use a key with the inventory:write scope.`;
  return [{ pointer: '', code: 'asset.described-by-another', detail }];
}
