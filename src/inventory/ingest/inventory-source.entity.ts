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

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  lastSeen: Date;
}
