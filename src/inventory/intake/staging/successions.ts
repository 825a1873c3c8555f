import type { EntityManager } from 'typeorm';
import { uuidArray } from '../../../platform/database/copy-rows.js';
import type { PlacedAsset } from './staging.js';

/**
 * Succession describes assets that a source reports at a location in place of an earlier asset of the same kind, name and validity (docs/decisions/0105).
 * `level` is the highest level of the new assets, and `formerLevel` is the highest level of the former assets.
 */
export interface Succession {
  readonly name: string;
  readonly level: number;
  readonly formerLevel: number;
  /** Assets that are newly reported at the location. */
  readonly ids: readonly string[];
  /** Asset that is no longer reported at the location. If there are several candidates, an asset with an owner or labels is preferred. */
  readonly former: string;
}

const KEY = 'place, kind, name, not_before, not_after';
const FACTS = `a.kind, a.name, coalesce(a.not_before, '-infinity') AS not_before, coalesce(a.not_after, 'infinity') AS not_after,
  coalesce(v.level, 0) AS level`;

/** successionsOf returns the successions in a document. Call this function after merging the document's locations. */
export async function successionsOf(
  tx: EntityManager,
  sourceId: string,
  placed: readonly PlacedAsset[],
): Promise<readonly Succession[]> {
  if (placed.length === 0) return [];
  return (await tx.query(
    `WITH shown AS MATERIALIZED (
       SELECT s.id, s.place, ${FACTS} FROM unnest($2::uuid[], $3::uuid[]) AS s (id, place)
       JOIN asset a ON a.id = s.id LEFT JOIN risk_verdict v ON v.id = a.verdict_id),
     gone AS MATERIALIZED (
       SELECT a.id, o.id AS place, a.owner, a.labels, ${FACTS} FROM asset a
       JOIN asset_occurrence o ON o.asset_id = a.id AND o.source_id = $1 AND o.missed = 1
       LEFT JOIN risk_verdict v ON v.id = a.verdict_id
       WHERE a.name IN (SELECT name FROM shown) AND a.kind IN (SELECT kind FROM shown)),
     present AS (SELECT ${KEY}, max(level) AS level, array_agg(DISTINCT id) AS ids FROM shown GROUP BY ${KEY}),
     past AS (
       SELECT ${KEY}, max(level) AS former_level, (array_agg(id ORDER BY owner IS NULL, cardinality(labels) DESC, id))[1] AS former
       FROM gone GROUP BY ${KEY})
     SELECT name, level, former_level AS "formerLevel", ids, former FROM present JOIN past USING (${KEY}) ORDER BY ${KEY}`,
    [sourceId, uuidArray(placed.map(({ assetId }) => assetId)), uuidArray(placed.map(({ placeId }) => placeId))],
  )) as Succession[];
}

/**
 * replacePlaces marks locations as missing if a partial scan replaces the asset at the location. A partial scan removes nothing else. An asset that is
 * identified by its references describes the finding at its location, so a new asset of the same kind, name and validity replaces the asset. Each step reads
 * distinct names and locations, so the cost is linear in the size of the document.
 */
export async function replacePlaces(
  tx: EntityManager,
  sourceId: string,
  placed: readonly PlacedAsset[],
): Promise<void> {
  const referring = placed.filter(({ isReferring }) => isReferring);
  if (referring.length === 0) return;
  await tx.query(
    `WITH shown AS MATERIALIZED (
       SELECT DISTINCT s.place, a.kind, a.name, coalesce(a.not_before, '-infinity') AS not_before, coalesce(a.not_after, 'infinity') AS not_after
       FROM unnest($2::uuid[], $3::uuid[]) AS s (id, place) JOIN asset a ON a.id = s.id),
     alike AS MATERIALIZED (
       SELECT b.id, b.kind, b.name, coalesce(b.not_before, '-infinity') AS not_before, coalesce(b.not_after, 'infinity') AS not_after
       FROM (SELECT DISTINCT kind, name FROM shown) s JOIN asset b ON b.name = s.name AND b.kind = s.kind),
     former AS MATERIALIZED (
       SELECT o.asset_id, o.id AS place, b.kind, b.name, b.not_before, b.not_after
       FROM alike b JOIN asset_occurrence o ON o.asset_id = b.id AND o.source_id = $1 AND o.missed = 0),
     replaced AS (
       SELECT f.asset_id, f.place FROM former f JOIN shown USING (place, kind, name, not_before, not_after)
       WHERE NOT EXISTS (SELECT FROM stage_place p WHERE p.asset_id = f.asset_id AND p.id = f.place)),
     gone AS (
       UPDATE asset_occurrence o SET missed = missed + 1 FROM replaced r
       WHERE o.asset_id = r.asset_id AND o.source_id = $1 AND o.id = r.place RETURNING o.asset_id)
     INSERT INTO stage_touched SELECT DISTINCT asset_id FROM gone ON CONFLICT DO NOTHING`,
    [sourceId, uuidArray(referring.map(({ assetId }) => assetId)), uuidArray(referring.map(({ placeId }) => placeId))],
  );
}
