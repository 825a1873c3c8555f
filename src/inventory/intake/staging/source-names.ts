import type { EntityManager } from 'typeorm';
import { uuidArray } from '../../../platform/database/copy-rows.js';
import { truncate } from '../../../platform/text/truncate.js';
import { MAX_NAME } from './asset-rows.js';

/** Spelling is a name that a document uses for an asset. */
export interface Spelling {
  readonly assetId: string;
  readonly name: string;
}

/** SQL for a name without the random part that tools generate for each scan (`key@<uuid>`). */
const bare = (column: string) =>
  `regexp_replace(${column}, '[@_-]?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$', '', 'i')`;

/**
 * keepSourceNames records the names that a source's document uses for assets, if the names differ from the assets' own names. Earlier names that the same
 * source used for these assets are deleted.
 */
export async function keepSourceNames(
  tx: EntityManager,
  sourceId: string,
  isKnown: boolean,
  spellings: readonly Spelling[],
): Promise<void> {
  if (spellings.length === 0) return;
  const values = [
    sourceId,
    uuidArray(spellings.map(({ assetId }) => assetId)),
    spellings.map(({ name }) => truncate(name, MAX_NAME)),
  ];
  const given = 'unnest($2::uuid[], $3::text[]) AS s (id, name)';
  if (isKnown)
    await tx.query(
      `DELETE FROM asset_source_name n WHERE n.source_id = $1 AND n.asset_id = ANY($2::uuid[])
         AND NOT EXISTS (SELECT FROM ${given} WHERE s.id = n.asset_id AND s.name = n.name)`,
      values,
    );
  await tx.query(
    `INSERT INTO asset_source_name (asset_id, source_id, name)
     SELECT DISTINCT s.id, $1::uuid, s.name FROM ${given} JOIN asset a ON a.id = s.id
     WHERE a.name <> s.name AND ${bare('a.name')} <> ${bare('s.name')} ORDER BY 1, 3 ON CONFLICT DO NOTHING`,
    values,
  );
}

/**
 * keepFormerNames preserves the current name of each asset that is about to be renamed, for the sources that use this name. Call this function before the
 * assets are renamed.
 */
export async function keepFormerNames(tx: EntityManager): Promise<void> {
  await tx.query(
    `INSERT INTO asset_source_name (asset_id, source_id, name)
     SELECT DISTINCT o.asset_id, o.source_id, a.name FROM stage_asset s JOIN stage_changed c ON c.id = s.id JOIN asset a ON a.id = s.id
     JOIN asset_occurrence o ON o.asset_id = a.id
     WHERE a.name <> s.name AND ${bare('a.name')} <> ${bare('s.name')} AND NOT EXISTS (
       SELECT FROM asset_source_name n WHERE n.asset_id = o.asset_id AND n.source_id = o.source_id)
     ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
  );
}
