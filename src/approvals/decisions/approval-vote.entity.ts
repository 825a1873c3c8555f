import { Column, Entity, PrimaryColumn } from 'typeorm';

export const DECISIONS = ['APPROVE', 'REJECT'] as const;
export type Decision = (typeof DECISIONS)[number];

/** The vote of one person. By the primary key a person votes once; a vote is never changed. */
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

  /** The hash of the document that the person saw. */
  @Column('bytea')
  hash: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
