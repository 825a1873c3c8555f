import type { EntryRow } from '../../audit/entries/entry-row.js';
import { timeOfId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Approval, ApprovalVote } from '../model/approval.entity.js';
import type { Stage } from '../policies/policy-evaluation.js';
import type { ApprovalManifest } from './approval-entries.js';
import type { RequestBasis } from './requester-standing.js';

type Parties = Pick<Approval, 'ownerId' | 'requesters' | 'requestedBy' | 'requesterName'>;
type Rules = Pick<Approval, 'policies' | 'stages' | 'commentRequired' | 'rejectThreshold' | 'expiresInSeconds'>;

/** ShownVote is a vote as displayed to users. */
export type ShownVote = Pick<ApprovalVote, 'userId' | 'userName' | 'decision' | 'stage' | 'comment' | 'at'>;

interface LoggedConsent {
  readonly person: string;
  readonly stage: unknown;
  readonly hasComment: boolean;
  /** ID of the identity provider through which the person had signed in; undefined for other sign-ins and in entries of earlier versions. */
  readonly provider: unknown;
  /** Time at which the vote was cast, in milliseconds. */
  readonly at: number;
}

/** LoggedApproval is an approval as recorded in the audit log. The approval's row may have been modified directly in the database. */
export interface LoggedApproval {
  /** Hash of the document, base64. */
  readonly hash: unknown;
  readonly title: unknown;
  readonly subjectKind: unknown;
  readonly subjectId: unknown;
  /** Rules that an earlier version did not log are absent. */
  readonly rules: Partial<Rules> & Pick<Rules, 'stages'>;
  /** Time at which the approval was requested. */
  readonly since: Date;
  /** Time at which the approval expires, in milliseconds. */
  readonly endsAt: number;
  /** Undefined in entries of earlier versions. */
  readonly parties: Parties | undefined;
  /** Basis of the request. Undefined in entries of earlier versions. */
  readonly basis: RequestBasis | undefined;
  /** Approving votes that count under the rules in effect when they were cast, oldest first. Each person counts once; requesters do not count. */
  readonly approvals: readonly LoggedConsent[];
  /** All votes that were cast, oldest first, including votes that do not count. */
  readonly votes: readonly ShownVote[];
  /** IDs of the audit entries of the request, the extensions, the votes and the decisions, oldest first. */
  readonly entries: readonly string[];
  /** Number of items in a batch, and the root of the Merkle tree over the items. */
  readonly manifest: ApprovalManifest | undefined;
  /** IDs of the people who rejected the request. */
  readonly rejections: ReadonlySet<string>;
  /** Whether the approval ended without being granted. */
  readonly hasEnded: boolean;
}

type LoggedVote = Pick<EntryRow, 'id' | 'action' | 'actorId' | 'detail'> & Partial<Pick<EntryRow, 'actorName'>>;

/** Time after the expiry during which votes are still accepted, to tolerate clock skew between processes and the duration of a statement. */
const END_TOLERANCE_MS = 10_000;
/** KnownOfApproval contains the facts about an approval that a process has read in the audit log. Entries may have been removed from the log since then. */
export interface KnownOfApproval {
  /** Whether the approval ended without being granted. */
  readonly isRefused?: boolean;
  /** IDs of the people who rejected the approval. */
  readonly rejectedBy?: readonly string[] | undefined;
  /** ID of the audit entry of the last extension. */
  readonly extension?: string | undefined;
}

/** Returns the approval that the entries describe, as a one-element list for use with `flatMap`. Returns undefined if no entry records a request. */
export function loggedApprovalIn(
  about: readonly LoggedVote[],
  known: KnownOfApproval = {},
): [LoggedApproval] | undefined {
  const requested = about.find(({ action }) => action === 'approval.requested');
  if (requested === undefined) return undefined;
  const { hash, title, subject, subjectId } = requested.detail;
  const same = about.filter(({ detail }) => detail['hash'] === hash);
  const parties = partiesIn(requested);
  const excluded = new Set([...(parties?.requesters ?? []), parties?.ownerId]);
  const { rules, endsAt, approvals, rejections: found } = votesIn(same, excluded);
  const rejections = new Set([...found, ...(known.rejectedBy ?? [])]);
  // Without the entry for an extension, the added stages are unknown.
  const isIncomplete = known.extension !== undefined && !same.some(({ id }) => id === known.extension);
  const isDecidedAgainst = same.some(
    ({ action, detail }) => action === 'approval.decided' && detail['to'] !== 'APPROVED',
  );
  const isRejected = rejections.size >= (rules.rejectThreshold ?? Infinity);
  return [
    {
      hash,
      title,
      subjectKind: subject,
      subjectId,
      rules,
      since: new Date(timeOfId(requested.id)),
      endsAt,
      parties,
      basis: requested.detail['basis'] as RequestBasis | undefined,
      approvals: [...approvals.values()],
      votes: same.flatMap(shownVote),
      entries: same.map(({ id }) => id),
      manifest: requested.detail['manifest'] as ApprovalManifest | undefined,
      rejections,
      hasEnded: known.isRefused === true || isIncomplete || isDecidedAgainst || isRejected,
    },
  ];
}

/** Reads the rules, the expiry and the votes. Each vote is counted under the rules in effect when the vote was cast. */
function votesIn(
  entries: readonly LoggedVote[],
  excluded: ReadonlySet<string | undefined>,
): Pick<LoggedApproval, 'rules' | 'endsAt' | 'rejections'> & {
  readonly approvals: ReadonlyMap<string, LoggedApproval['approvals'][number]>;
} {
  const approvals = new Map<string, LoggedApproval['approvals'][number]>();
  const rejections = new Set<string>();
  let rules: LoggedApproval['rules'] = { stages: [] };
  let endsAt = Infinity;
  for (const { id, action, actorId: person, detail } of entries) {
    // An extension replaces the rules of the preceding entry.
    if (action === 'approval.requested' || action === 'approval.extended') {
      rules = rulesIn(detail);
      endsAt = timeOfId(id) + (rules.expiresInSeconds ?? Infinity) * 1000;
    } else if (action === 'approval.rejected') rejections.add(person);
    else if (action === 'approval.approved') {
      const hasComment = detail['comment'] !== undefined;
      if (approvals.has(person) || excluded.has(person) || timeOfId(id) > endsAt + END_TOLERANCE_MS) continue;
      if (rules.commentRequired !== true || hasComment)
        approvals.set(person, {
          person,
          stage: detail['stage'],
          hasComment,
          provider: detail['provider'],
          at: timeOfId(id),
        });
    }
  }
  return { rules, endsAt, approvals, rejections };
}

function shownVote({ id, action, actorId: userId, actorName: userName = userId, detail }: LoggedVote): ShownVote[] {
  if (action !== 'approval.approved' && action !== 'approval.rejected') return [];
  const decision = action === 'approval.approved' ? 'APPROVE' : 'REJECT';
  const comment = typeof detail['comment'] === 'string' ? detail['comment'] : null;
  return [{ userId, userName, decision, stage: Number(detail['stage']), comment, at: new Date(timeOfId(id)) }];
}

function rulesIn({ policies, stages, ...detail }: LoggedVote['detail']): LoggedApproval['rules'] {
  const { commentRequired, rejectThreshold, expiresInSeconds } = detail;
  return {
    stages: (stages ?? []) as Stage[],
    ...(Array.isArray(policies) ? { policies: policies as Rules['policies'] } : {}),
    ...(typeof commentRequired === 'boolean' ? { commentRequired } : {}),
    ...(typeof rejectThreshold === 'number' ? { rejectThreshold } : {}),
    ...(typeof expiresInSeconds === 'number' ? { expiresInSeconds } : {}),
  };
}

function partiesIn({ detail }: LoggedVote): Parties | undefined {
  const { owner, requesters, requestedBy, requesterName } = detail;
  if (typeof owner !== 'string' || !Array.isArray(requesters)) return undefined;
  return {
    ownerId: owner,
    requesters: requesters.map(String),
    requestedBy: String(requestedBy),
    requesterName: String(requesterName),
  };
}

/** @throws Problem `approval.expired` */
export function assertInTime({ endsAt }: LoggedApproval): void {
  if (Date.now() <= endsAt + END_TOLERANCE_MS) return;
  throw new Problem(
    'conflict',
    'approval.expired',
    'The approval has expired. The requester can submit the request again.',
  );
}

/**
 * isApproved reports whether each stage has enough votes. Each person counts in one stage only. An approval that ended without being granted is never approved.
 */
export function isApproved({ rules: { stages }, approvals, hasEnded }: LoggedApproval): boolean {
  if (hasEnded || stages.length === 0) return false;
  return stages.every(({ threshold }, index) => approvals.filter(({ stage }) => stage === index).length >= threshold);
}
