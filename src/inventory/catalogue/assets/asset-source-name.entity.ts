import { Entity, Index, PrimaryColumn } from 'typeorm';

/** A name that documents from a source use for an asset, if the name differs from the asset's own name. */
@Entity('asset_source_name')
@Index('asset_source_name_name', ['name'])
@Index('asset_source_name_source', ['sourceId', 'assetId'])
// The index is a trigram GIN index, which TypeORM cannot describe. It exists if the database has pg_trgm (search-indexes.ts).
@Index('asset_source_name_text', { synchronize: false })
export class AssetSourceName {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'PK_asset_source_name' })
  assetId: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'PK_asset_source_name' })
  sourceId: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'PK_asset_source_name' })
  name: string;
}

/**
 * nameAtSource returns SQL for the name that a source uses for the asset `a`. If the source uses several names, the result is the first in sort order.
 *
 * @param source SQL that yields the id of the source
 */
export function nameAtSource(source: string): string {
  return `coalesce((SELECT min(n.name) FROM asset_source_name n WHERE n.asset_id = a.id AND n.source_id = ${source}), a.name)`;
}

/**
 * anyNameMeets returns SQL that tests whether the name of the asset, or any name that a source uses for the asset, meets a condition.
 *
 * @param meets function that builds the condition for a column
 */
export function anyNameMeets(alias: string, meets: (column: string) => string): string {
  return `(${meets(`${alias}.name`)} OR ${alias}.id = ANY(ARRAY(SELECT n.asset_id FROM asset_source_name n WHERE ${meets('n.name')})))`;
}
