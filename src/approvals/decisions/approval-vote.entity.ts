import { Column, Entity, PrimaryColumn } from 'typeorm';

export const DECISIONS = ['APPROVE', 'REJECT'] as const;
export type Decision = (typeof DECISIONS)[number];

/** What one person said. The primary key is the rule that a person counts once; a vote is never changed. */
@Entity('approval_vote')
export class ApprovalVote {
  @PrimaryColumn('uuid')
  approvalId: string;

  @PrimaryColumn('uuid')
  userId: string;

  /** The person's e-mail address then. */
  @Column('text')
  userName: string;

  @Column('text')
  decision: Decision;

  @Column('int')
  stage: number;

  @Column('text', { nullable: true })
  comment: string | null;

  /** The hash of what was shown. */
  @Column('bytea')
  hash: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
