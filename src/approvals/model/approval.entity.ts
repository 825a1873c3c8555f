import { Check, Column, Entity, Index, PrimaryColumn, type EntityManager } from 'typeorm';
import type { ApprovalKind } from '../subjects/approval-subject.port.js';
import type { ApprovalRequirement, Stage } from '../policies/policy-evaluation.js';
import { newId } from '../../platform/database/new-id.js';

/**
 * The status of an approval: PENDING until it changes to another status. An APPROVED approval whose subject was not carried out becomes PENDING again if the
 * current policies demand further stages; the other statuses are final. SUPERSEDED: the document changed for a legitimate reason (its key was rotated), and a
 * new approval was requested.
 */
export const APPROVAL_STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN', 'SUPERSEDED'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export function isDecided(status: ApprovalStatus): boolean {
  return status !== 'PENDING';
}

/** One question to the approvers, with the rules by which it is decided. Changed only by compare-and-set statements. */
@Entity('approval')
@Check('approval_decided', `(status = 'PENDING') = (decided_at IS NULL)`)
@Check('approval_group', `(status = 'PENDING') = (group_id IS NOT NULL)`)
@Index('approval_subject', ['subjectId', 'id'])
@Index('approval_one_pending', ['subjectKind', 'subjectId'], {
  unique: true,
  where: `status = 'PENDING' AND subject_kind <> 'signing-batch'`,
})
@Index('approval_owner', ['ownerId', 'id'])
@Index('approval_open_by_caller', ['requestedBy'], { where: `status = 'PENDING'` })
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

  /** One line that describes the subject. */
  @Column('text')
  title: string;

  /** The document that approvers see: canonical JSON. That of a batch is long, so it is read only where it is selected. */
  @Column('text', { select: false })
  shown: string;

  /** SHA-256 of `shown`: what an approval covers. */
  @Column('bytea')
  hash: Buffer;

  @Column('jsonb')
  policies: ApprovalRequirement['policies'];

  @Column('jsonb')
  stages: Stage[];

  /** Index of the current stage. */
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

  /** The person behind the request, whose vote never counts. */
  @Column('text')
  ownerId: string;

  /** IDs of the people who could have made this request with a secret that they were shown. Their votes never count. */
  @Column('text', { array: true, default: '{}' })
  requesters: string[];

  /** The requester: a person, an API key or an OAuth client. */
  @Column('text')
  requestedBy: string;

  @Column('text')
  requesterName: string;

  /** X-Request-Id of the request. */
  @Column('text')
  correlation: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  /** When members who have not voted are reminded; null when they were, or will not be. */
  @Column('timestamptz', { nullable: true })
  remindAt: Date | null;

  @Column('timestamptz', { nullable: true })
  decidedAt: Date | null;

  /** The approval that replaced this one. */
  @Column('uuid', { nullable: true })
  supersededBy: string | null;
}

/** Approvals with less time than this have no reminder. */
const MIN_REMINDED_SECONDS = 10;
/** Approvers are reminded after this part of the time has passed; the texts of `approval-notices.ts` state it. */
const REMINDER_SHARE = 0.5;

/** Returns the columns `expiresAt` and `remindAt` of an approval that expires after the given number of seconds. */
export function endsAfter(seconds: number) {
  const fromNow = (part: number) => () => `now() + make_interval(secs => ${Math.trunc(seconds) * part})`;
  return { expiresAt: fromNow(1), remindAt: seconds < MIN_REMINDED_SECONDS ? null : fromNow(REMINDER_SHARE) };
}

/**
 * Returns SQL that is true if a person requested an approval, or could have: the person owns the credential that was used, or was shown its secret before.
 *
 * @param person SQL expression of the type text, over `a`, the row of the approval
 */
export function isRequester(person: string): string {
  return `(${person} = a.owner_id OR ${person} = ANY(a.requesters))`;
}

/** One of many subjects that an approval releases together, to find the approval from the subject. The approval's `shown` describes it. */
@Entity('approval_item')
@Index('approval_item_subject', ['subjectId'])
export class ApprovalItem {
  @PrimaryColumn('uuid')
  approvalId: string;

  @PrimaryColumn('uuid')
  subjectId: string;
}

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

/** Kinds of notices. `decided` covers every way in which an approval ended. */
export const NOTICE_KINDS = ['requested', 'reminder', 'decided'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A notice that is still to be sent: written in the transaction of its event, and turned into mails and webhooks by a worker. */
@Entity('approval_notice')
@Index('approval_notice_waiting', ['id'], { where: 'told_at IS NULL' })
export class ApprovalNotice {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  approvalId: string;

  @Column('text')
  kind: NoticeKind;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  toldAt: Date | null;
}

/** Records a notice, in the transaction of its event. */
export async function putNotice(tx: EntityManager, approvalId: string, kind: NoticeKind): Promise<void> {
  await tx.insert(ApprovalNotice, { id: newId(), approvalId, kind });
}
