import { Entity, Index, PrimaryColumn } from 'typeorm';

/** A name that the documents of a source have for an asset, where it is not the name of the asset itself. */
@Entity('asset_source_name')
@Index('asset_source_name_name', ['name'])
@Index('asset_source_name_source', ['sourceId', 'assetId'])
export class AssetSourceName {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'PK_asset_source_name' })
  assetId: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'PK_asset_source_name' })
  sourceId: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'PK_asset_source_name' })
  name: string;
}

/** SQL: the name that a source has for the asset `a`. Of several it is the first. @param source SQL that gives the id of the source */
export function nameAtSource(source: string): string {
  return `coalesce((SELECT min(n.name) FROM asset_source_name n WHERE n.asset_id = a.id AND n.source_id = ${source}), a.name)`;
}

/** SQL: whether the asset, or a source for it, has a name that meets a condition. @param meets the condition on a column */
export function anyNameMeets(alias: string, meets: (column: string) => string): string {
  return `(${meets(`${alias}.name`)} OR ${alias}.id = ANY(ARRAY(SELECT n.asset_id FROM asset_source_name n WHERE ${meets('n.name')})))`;
}
