import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A source of documents: a repository, an application, a sensor. Only its newest document counts. */
@Entity('inventory_source')
export class InventorySource {
  /** Made of the name. */
  @PrimaryColumn('uuid')
  id: string;

  /** The index is for beginnings of names in any collation (`text_pattern_ops`), which TypeORM does not describe. */
  @Index('inventory_source_name', { synchronize: false })
  @Column('text')
  name: string;

  /** The newest whole document; null for a source that reports in parts. */
  @Column('uuid', { nullable: true })
  documentId: string | null;

  /** The time that the newest document gives itself. */
  @Column('timestamptz', { nullable: true })
  documentTime: Date | null;

  /** Hash of the content of the newest whole document, without the members that differ in each edition. */
  @Column('bytea', { nullable: true })
  said: Buffer | null;

  /** When that was last brought into the inventory. */
  @Column('timestamptz', { nullable: true })
  mergedAt: Date | null;

  /** The start of the oldest transaction that was open then: the merge did not see its changes. */
  @Column('timestamptz', { nullable: true })
  mergedSince: Date | null;

  /** Edition of the reader by which its assets were read; null for a source of a version that kept none. */
  @Column('int', { nullable: true })
  reading: number | null;

  /** The merge up to which that holds: another one than the last means that a version which keeps no edition brought something in. */
  @Column('timestamptz', { nullable: true })
  readMerge: Date | null;

  /** While it is read again: the asset up to which it was. */
  @Column('uuid', { nullable: true })
  readAfter: string | null;

  /** The first reporter: `sensor:<id>`, or kind and id of the caller; null when it is not known. */
  @Index('inventory_source_owner')
  @Column('text', { nullable: true })
  owner: string | null;

  /** Starts of the contexts of places that single tools report; null when there are none. */
  @Column('text', { array: true, nullable: true })
  toolContexts: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;
}
