import type { EntityManager } from 'typeorm';
import type { Remark } from '../model/document.js';

/** Who reports a document, as far as it decides what the document may say of assets that others show too. */
export interface Describer {
  readonly sourceId: string;
  /** The owner of the source, as in `inventory_source.owner`. */
  readonly owner: string;
  /** Whether the caller holds `inventory:write`, and so may describe the assets of everybody. */
  readonly mayWrite: boolean;
}

/**
 * SQL that is true where a document may change the description of a known asset `a` to that of `s`, whose verdicts are `v` and `n`; $1 to $3 are
 * sourceId, owner and mayWrite of the Describer.
 *
 * A certificate or key is one asset for all its reporters, and a document can claim any fingerprint. So an asset is described by one of the sources
 * that show it: by the one that last made it worse (`described_by`), else by the one that has shown it for the longest time. Documents of
 * another owner may only make it worse: a higher level, or an earlier end. What an algorithm is follows from its identity alone.
 */
export const MAY_DESCRIBE = `($3 OR a.kind = 'algorithm' OR v.quantum IS NOT DISTINCT FROM 'unknown' OR ${isWorse()} OR NOT EXISTS (
  SELECT FROM (
    SELECT o.source_id FROM asset_occurrence o WHERE o.asset_id = a.id AND o.missed = 0
    ORDER BY (o.source_id = a.described_by) DESC NULLS LAST, o.first_seen, o.source_id LIMIT 1) d
  JOIN inventory_source i ON i.id = d.source_id WHERE i.id <> $1 AND i.owner IS DISTINCT FROM $2))`;

function isWorse(): string {
  const [before, now] = ['coalesce(v.level, -1)', 'coalesce(n.level, -1)'];
  const [end, newEnd] = [`coalesce(a.not_after, 'infinity')`, `coalesce(s.not_after, 'infinity')`];
  return `(${now} >= ${before} AND ${newEnd} <= ${end} AND (${now} > ${before} OR ${newEnd} < ${end}))`;
}

/** Parameters of MAY_DESCRIBE. */
export function describerValues({ sourceId, owner, mayWrite }: Describer): unknown[] {
  return [sourceId, owner, mayWrite];
}

/** countForeign counts the staged assets whose description stays as another owner reports it. */
export async function countForeign(tx: EntityManager, describer: Describer): Promise<number> {
  if (describer.mayWrite) return 0;
  const [row] = (await tx.query(
    `SELECT count(*)::int AS count FROM stage_asset s JOIN asset a ON a.id = s.id
       LEFT JOIN risk_verdict v ON v.id = a.verdict_id LEFT JOIN risk_verdict n ON n.id = s.verdict_id
     WHERE a.content <> s.content AND NOT (n.quantum = 'unknown' AND v.quantum <> 'unknown') AND NOT ${MAY_DESCRIBE}`,
    describerValues(describer),
  )) as { count: number }[];
  return row?.count ?? 0;
}

/** The warning about assets whose description stays as another owner reports it; none for 0. */
export function foreignRemarks(count: number): Remark[] {
  if (count === 0) return [];
  const detail = `${count} assets are described differently by another owner's source and keep that description; only a worse verdict or an earlier end replaces it. Use a key with the scope inventory:write to describe them.`;
  return [{ pointer: '', code: 'asset.described-by-another', detail }];
}
