import type { NewEntry } from '../../audit/entries/audit.service.js';
import type { Actor, Caller } from '../../access/caller.js';
import type { ApprovalRequirement } from '../policies/policy-evaluation.js';
import type { ApprovalStatus, Approval, ApprovalVote } from '../model/approval.entity.js';
import type { RequestBasis } from './requester-standing.js';

/** The actor of audit entries that no person caused, such as the expiry of an approval. */
export const APPROVALS_ACTOR: Actor = { kind: 'system', id: 'approvals', name: 'approvals' };

type About = Pick<Approval, 'id' | 'status' | 'subjectKind' | 'subjectId' | 'hash'>;

type Requested = About &
  ApprovalRequirement &
  Pick<Approval, 'title' | 'correlation' | 'ownerId' | 'requesters' | 'requestedBy' | 'requesterName'> & {
    readonly manifest?: ApprovalManifest;
    readonly basis?: RequestBasis;
  };

/** ApprovalManifest links the items of a joint approval to the log: the number of items, and the root of the Merkle tree (RFC 6962) over the items, base64. */
export interface ApprovalManifest {
  readonly size: number;
  readonly root: string;
}

/** Returns the audit entry for a requested approval. */
export function requestedEntry(approval: Requested, actor: Actor, source?: string): NewEntry {
  const {
    policies,
    stages,
    commentRequired,
    rejectThreshold,
    expiresInSeconds,
    title,
    correlation,
    manifest,
    basis,
    ownerId: owner,
    requesters,
    requestedBy,
    requesterName,
  } = approval;
  const rules = { policies, stages, commentRequired, rejectThreshold, expiresInSeconds };
  const parties = { owner, requesters, requestedBy, requesterName };
  const detail = { to: 'PENDING', title, ...about(approval), manifest, basis, ...rules, ...parties };
  return { action: 'approval.requested', actor, target: targetOf(approval), correlation, source, detail };
}

/** Returns the audit entry for an approval that needs further stages. The entry contains the stages of the previous entry, followed by the new stages. */
export function extendedEntry(
  approval: About & ApprovalRequirement & Pick<Approval, 'stage' | 'correlation'>,
  actor: Actor,
): NewEntry {
  const { policies, stages, commentRequired, rejectThreshold, expiresInSeconds, stage, correlation } = approval;
  const rules = { policies, stages, commentRequired, rejectThreshold, expiresInSeconds };
  const detail = { from: approval.status, to: 'PENDING', stage, ...about(approval), ...rules };
  return { action: 'approval.extended', actor, target: targetOf(approval), correlation, source: '', detail };
}

/** VoterSession is the sign-in behind a vote. */
export interface VoterSession {
  /** ID of the audit entry for the sign-in that opened the session. */
  readonly signIn: string;
  /** ID of the identity provider; undefined for other sign-ins. */
  readonly provider: string | undefined;
}

/** Returns the audit entry for a vote. */
export function voteEntry(
  approval: About,
  { decision, stage, comment }: ApprovalVote,
  caller: Caller,
  voter: VoterSession,
): NewEntry {
  return {
    action: decision === 'APPROVE' ? 'approval.approved' : 'approval.rejected',
    actor: caller,
    target: targetOf(approval),
    correlation: caller.origin.requestId,
    source: caller.origin.address,
    detail: { stage, ...about(approval), comment: comment ?? undefined, session: caller.session?.id, ...voter },
  };
}

/** Returns the audit entry for a passed stage or a decision. */
export function movedEntry(
  approval: About,
  to: { readonly status: ApprovalStatus; readonly stage: number },
  { actor, correlation, source }: Pick<NewEntry, 'actor' | 'correlation' | 'source'>,
): NewEntry {
  return {
    action: to.status === 'PENDING' ? 'approval.stage-passed' : 'approval.decided',
    actor,
    target: targetOf(approval),
    correlation,
    source,
    detail: { from: approval.status, to: to.status, stage: to.stage, ...about(approval) },
  };
}

function about({ subjectKind, subjectId, hash }: About) {
  return { subject: subjectKind, subjectId, hash: hash.toString('base64') };
}

function targetOf({ id }: About) {
  return { kind: 'approval', id };
}
