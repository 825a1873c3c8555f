import { Check, Column, Entity, Index, PrimaryColumn, type EntityManager } from 'typeorm';
import type { ApprovalKind } from '../policies/approval-subject.port.js';
import type { ApprovalRequirement, Stage } from '../policies/policy-evaluation.js';
import { newId } from '../../platform/database/new-id.js';

/**
 * The status of an approval. A new approval is PENDING. An APPROVED approval whose subject was not carried out becomes PENDING again if the current policies
 * require further stages. The other statuses are final. SUPERSEDED: the document changed for a legitimate reason (its key was rotated), and a new approval was
 * requested.
 */
export const APPROVAL_STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN', 'SUPERSEDED'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export function isDecided(status: ApprovalStatus): boolean {
  return status !== 'PENDING';
}

/** An approval request, with the rules that apply to it. Rows are changed only by compare-and-set statements. */
@Entity('approval')
@Check('approval_decided', `(status = 'PENDING') = (decided_at IS NULL)`)
@Check('approval_group', `(status = 'PENDING') = (group_id IS NOT NULL)`)
@Index('approval_subject', ['subjectId', 'id'])
@Index('approval_one_pending', ['subjectKind', 'subjectId'], {
  unique: true,
  where: `status = 'PENDING' AND subject_kind <> 'signing-batch'`,
})
@Index('approval_owner', ['ownerId', 'id'])
@Index('approval_requester_name', ['requesterName', 'id'])
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

  /** One-line description of the subject. */
  @Column('text')
  title: string;

  /** The document that approvers see: canonical JSON. A batch's document is long, so the column is read only where it is selected explicitly. */
  @Column('text', { select: false })
  shown: string;

  /** SHA-256 of `shown`: the document that the approval covers. */
  @Column('bytea')
  hash: Buffer;

  @Column('jsonb')
  policies: ApprovalRequirement['policies'];

  @Column('jsonb')
  stages: Stage[];

  /** Index of the current stage. */
  @Column('int', { default: 0 })
  stage: number;

  /** ID of the current stage's group; null once the approval is decided. */
  @Column('uuid', { nullable: true })
  groupId: string | null;

  /** IDs of the groups in all stages. */
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

  /** IDs of the people who could have made the request, because a secret was disclosed to them. The votes of these people never count. */
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

  /** Time at which members who have not voted are reminded; null if no reminder is due. */
  @Column('timestamptz', { nullable: true })
  remindAt: Date | null;

  @Column('timestamptz', { nullable: true })
  decidedAt: Date | null;

  /** ID of the approval that replaced this approval. */
  @Column('uuid', { nullable: true })
  supersededBy: string | null;
}

/** Approvers are reminded only if the decision period is at least this long. */
const MIN_REMINDED_SECONDS = 10;
/** Fraction of the decision period after which approvers are reminded. The messages in `approval-notices.ts` mention this fraction. */
const REMINDER_SHARE = 0.5;

/** Returns the columns `expiresAt` and `remindAt` of an approval that expires after the given number of seconds. */
export function endsAfter(seconds: number) {
  const fromNow = (part: number) => () => `now() + make_interval(secs => ${Math.trunc(seconds) * part})`;
  return { expiresAt: fromNow(1), remindAt: seconds < MIN_REMINDED_SECONDS ? null : fromNow(REMINDER_SHARE) };
}

/**
 * Returns SQL that is true if a person requested an approval or could have done so: the person owns the credential that was used, or its secret was disclosed
 * to the person.
 *
 * @param person SQL expression of type text; the row of the approval is `a`
 */
export function isRequester(person: string): string {
  return `(${person} = a.owner_id OR ${person} = ANY(a.requesters))`;
}

/** One of several subjects that an approval releases together. Maps the subject to its approval, whose `shown` describes the subject. */
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

/** A person's vote. The primary key ensures that each person votes only once. A vote is never changed. */
@Entity('approval_vote')
export class ApprovalVote {
  @PrimaryColumn('uuid')
  approvalId: string;

  @PrimaryColumn('uuid')
  userId: string;

  /** The person's email address at the time of the vote. */
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

/** Kinds of notices. `decided` covers every way in which an approval can end. */
export const NOTICE_KINDS = ['requested', 'reminder', 'decided'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A notice to be sent. The notice is inserted in the transaction of its event, and a worker converts the notice to emails and webhook messages. */
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
