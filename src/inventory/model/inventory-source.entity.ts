import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A source of documents: a repository, an application or a sensor. Only the newest document of a source is relevant. */
@Entity('inventory_source')
export class InventorySource {
  /** ID, derived from the name. */
  @PrimaryColumn('uuid')
  id: string;

  /** The index supports searches for name prefixes in any collation (`text_pattern_ops`), which TypeORM cannot describe. */
  @Index('inventory_source_name', { synchronize: false })
  @Column('text')
  name: string;

  /** Newest complete document; null for a source that sends partial documents. */
  @Column('uuid', { nullable: true })
  documentId: string | null;

  /** Timestamp of the newest document. */
  @Column('timestamptz', { nullable: true })
  documentTime: Date | null;

  /** Hash of the content of the newest complete document, without the members that differ in each edition. */
  @Column('bytea', { nullable: true })
  said: Buffer | null;

  /** Time at which the content of the newest complete document was last merged into the inventory. */
  @Column('timestamptz', { nullable: true })
  mergedAt: Date | null;

  /** Start time of the oldest transaction that was open during the merge and could not see the merged rows. */
  @Column('timestamptz', { nullable: true })
  mergedSince: Date | null;

  /** Reading edition with which the assets of the source were read; null for a source stored by a version that did not record editions. */
  @Column('int', { nullable: true })
  reading: number | null;

  /** Time of the merge for which `reading` is valid. If different from `mergedAt`, a version that does not record editions merged a document afterwards. */
  @Column('timestamptz', { nullable: true })
  readMerge: Date | null;

  /** Last asset that was reread, while the source is being reread. */
  @Column('uuid', { nullable: true })
  readAfter: string | null;

  /** Owner, usually the first reporter: `sensor:<id>`, or kind and id of the caller; null if unknown. */
  @Index('inventory_source_owner')
  @Column('text', { nullable: true })
  owner: string | null;

  /** Context prefixes of the locations reported by individual tools; null if no tool has reported separately. */
  @Column('text', { array: true, nullable: true })
  toolContexts: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;
}
