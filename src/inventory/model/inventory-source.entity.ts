import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A source of documents: a repository, an application or a sensor. Only its newest document is relevant. */
@Entity('inventory_source')
export class InventorySource {
  /** ID, derived from the name. */
  @PrimaryColumn('uuid')
  id: string;

  /** The index is for name prefixes in any collation (`text_pattern_ops`), which TypeORM cannot describe. */
  @Index('inventory_source_name', { synchronize: false })
  @Column('text')
  name: string;

  /** Newest whole document; null for a source that reports in parts. */
  @Column('uuid', { nullable: true })
  documentId: string | null;

  /** Timestamp of the newest document. */
  @Column('timestamptz', { nullable: true })
  documentTime: Date | null;

  /** Hash of the content of the newest whole document, without the members that differ in each edition. */
  @Column('bytea', { nullable: true })
  said: Buffer | null;

  /** Time at which that content was last merged into the inventory. */
  @Column('timestamptz', { nullable: true })
  mergedAt: Date | null;

  /** Start of the oldest transaction that was open at the merge, which did not see its changes. */
  @Column('timestamptz', { nullable: true })
  mergedSince: Date | null;

  /** Edition of the reader that read its assets; null for a source stored by a version that did not record editions. */
  @Column('int', { nullable: true })
  reading: number | null;

  /**
   * The merge up to which `reading` is valid. If it differs from the last merge, a version that does not record editions has since merged a document.
   */
  @Column('timestamptz', { nullable: true })
  readMerge: Date | null;

  /** While the source is being reread: the last asset that was reread. */
  @Column('uuid', { nullable: true })
  readAfter: string | null;

  /** Owner, usually the first reporter: `sensor:<id>`, or kind and id of the caller; null if unknown. */
  @Index('inventory_source_owner')
  @Column('text', { nullable: true })
  owner: string | null;

  /** Context prefixes of the locations reported by individual tools; null if there are none. */
  @Column('text', { array: true, nullable: true })
  toolContexts: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;
}
