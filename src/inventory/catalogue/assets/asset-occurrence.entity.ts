import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An occurrence of an asset in a source. The location is empty if the source did not report a location. */
@Entity('asset_occurrence')
@Index('asset_occurrence_source', ['sourceId', 'assetId'])
// The indexes are a B-tree on location prefixes and, if the database has pg_trgm, a trigram GIN index (search-indexes.ts). TypeORM can describe neither.
@Index('asset_occurrence_location_start', { synchronize: false })
@Index('asset_occurrence_location_text', { synchronize: false })
export class AssetOccurrence {
  @PrimaryColumn('uuid')
  assetId: string;

  /** Hash of location, line, position, symbol and context. */
  @PrimaryColumn('uuid')
  id: string;

  @PrimaryColumn('uuid')
  sourceId: string;

  @Column('text')
  location: string;

  @Column('int', { nullable: true })
  line: number | null;

  /** Position in the line, `offset` in CycloneDX. */
  @Column('int', { nullable: true })
  position: number | null;

  @Column('text', { nullable: true })
  symbol: string | null;

  @Column('text', { nullable: true })
  context: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  /** Updated at most once an hour, so that a scan without changes requires only reads. */
  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;

  /** Number of consecutive newer documents of the same source that did not contain the occurrence. */
  @Column('int', { default: 0 })
  missed: number;
}
