import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: counts the changes of all policies together, so that whoever looked at them can tell whether they still stand. */
@Entity('approval_policy_revision')
export class ApprovalPolicyRevision {
  @PrimaryColumn('boolean', { default: true })
  only: boolean;

  @Column('int', { default: 0 })
  revision: number;
}
