import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ApprovalKind } from '../subjects/approval-subject.port.js';
import type { ApprovalRequirement, Stage } from '../policies/policy-evaluation.js';
import type { ApprovalStatus } from './approval-status.js';

/** One question to the approvers, with the rules as they were when it was asked. Changed only by compare-and-set statements. */
@Entity('approval')
@Check('approval_decided', `(status = 'PENDING') = (decided_at IS NULL)`)
@Check('approval_group', `(status = 'PENDING') = (group_id IS NOT NULL)`)
@Index('approval_subject', ['subjectId', 'id'])
@Index('approval_one_pending', ['subjectKind', 'subjectId'], {
  unique: true,
  where: `status = 'PENDING' AND subject_kind <> 'signing-batch'`,
})
@Index('approval_owner', ['ownerId', 'id'])
@Index('approval_waiting', ['groupId', 'id'], { where: `status = 'PENDING'` })
@Index('approval_reminding', ['remindAt'], { where: `status = 'PENDING' AND remind_at IS NOT NULL` })
@Index('approval_expiring', ['expiresAt'], { where: `status = 'PENDING'` })
export class Approval {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  status: ApprovalStatus;

  @Column('text')
  subjectKind: ApprovalKind;

  @Column('uuid')
  subjectId: string;

  /** One line that says what it is about. */
  @Column('text')
  title: string;

  /** What the approvers are shown: canonical JSON. Of a batch it is long, so it is read only where it is asked for. */
  @Column('text', { select: false })
  shown: string;

  /** SHA-256 of `shown`: what an approval covers. */
  @Column('bytea')
  hash: Buffer;

  @Column('jsonb')
  policies: ApprovalRequirement['policies'];

  @Column('jsonb')
  stages: Stage[];

  /** Index of the stage that is being asked. */
  @Column('int', { default: 0 })
  stage: number;

  /** The group of that stage; null when decided. */
  @Column('uuid', { nullable: true })
  groupId: string | null;

  /** The groups of all stages. */
  @Column('uuid', { array: true })
  groupIds: string[];

  @Column('boolean')
  commentRequired: boolean;

  @Column('int')
  rejectThreshold: number;

  @Column('int')
  expiresInSeconds: number;

  /** The person behind the request, who never counts. */
  @Column('text')
  ownerId: string;

  /** Everybody who could have asked as this caller did, by a secret that they were shown: they never count, either. */
  @Column('text', { array: true, default: '{}' })
  requesters: string[];

  /** Who asked: a person, an API key or an OAuth client. */
  @Column('text')
  requestedBy: string;

  @Column('text')
  requesterName: string;

  /** X-Request-Id of the call that asked. */
  @Column('text')
  correlation: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  /** When those who have not voted are reminded; null when they were, or will not be. */
  @Column('timestamptz', { nullable: true })
  remindAt: Date | null;

  @Column('timestamptz', { nullable: true })
  decidedAt: Date | null;

  /** The approval that was asked for in place of this one. */
  @Column('uuid', { nullable: true })
  supersededBy: string | null;
}
