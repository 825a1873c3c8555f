import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A place where a source saw an asset; with an empty location when it named none. */
@Entity('asset_occurrence')
@Index('asset_occurrence_source', ['sourceId', 'assetId'])
// An index over the beginnings of locations; a GIN, where the database has pg_trgm (search-indexes.ts). TypeORM describes neither.
@Index('asset_occurrence_location_start', { synchronize: false })
@Index('asset_occurrence_location_text', { synchronize: false })
export class AssetOccurrence {
  @PrimaryColumn('uuid')
  assetId: string;

  /** Hash of the place. */
  @PrimaryColumn('uuid')
  id: string;

  @PrimaryColumn('uuid')
  sourceId: string;

  @Column('text')
  location: string;

  @Column('int', { nullable: true })
  line: number | null;

  /** CycloneDX calls it `offset`. */
  @Column('int', { nullable: true })
  position: number | null;

  @Column('text', { nullable: true })
  symbol: string | null;

  @Column('text', { nullable: true })
  context: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  /** Written at most once an hour: a scan that finds everything as it was should cost reads only. */
  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;

  /** Newer documents of the same source, one after the other, that did not show it. */
  @Column('int', { default: 0 })
  missed: number;
}
