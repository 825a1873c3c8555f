import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** People who may approve. Who they are is in approver_group_member. */
@Entity('approver_group')
export class ApproverGroup {
  @PrimaryColumn('uuid')
  id: string;

  @Index('approver_group_name', { unique: true })
  @Column('text')
  name: string;

  /** Counts the edits; the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
