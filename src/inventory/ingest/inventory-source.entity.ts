import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Who reports: a repository, an application, a sensor. Only its newest document counts. */
@Entity('inventory_source')
export class InventorySource {
  /** Made of the name. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** The newest whole document; null for a source that reports in parts. */
  @Column('uuid', { nullable: true })
  documentId: string | null;

  /** The time that the newest document gives itself. */
  @Column('timestamptz', { nullable: true })
  documentTime: Date | null;

  /** Hash of what the newest whole document says, apart from what each edition of a document says about itself. */
  @Column('bytea', { nullable: true })
  said: Buffer | null;

  /** When that was last brought into the inventory. */
  @Column('timestamptz', { nullable: true })
  mergedAt: Date | null;

  /** The start of the oldest transaction that was under way then: what that changed was not seen by the merge. */
  @Column('timestamptz', { nullable: true })
  mergedSince: Date | null;

  /** Who reported it first: `sensor:<id>`, or the kind and id of the caller; null where that is not known. */
  @Column('text', { nullable: true })
  owner: string | null;

  /** What contexts of places start with that single tools report of; null when there are none. */
  @Column('text', { array: true, nullable: true })
  toolContexts: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;
}
