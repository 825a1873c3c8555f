import { createHash } from 'node:crypto';
import { base64Bytes } from '../formats/encoding/base64.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { type EvidenceFile, loggedFactsIn, type LoggedFact, signInsIn } from './evidence-file.js';
import { approvalIn } from './evidence-steps.js';
import { leafHash } from './merkle-tree.js';
import { rootOfInclusion } from './merkle-proof.js';

/**
 * Returns the faults of the approval, if the request required one. In each stage, the required number of different people must have approved the document. The
 * requester's vote does not count.
 */
export function faultsOfApproval(evidence: EvidenceFile): string[] {
  const { approvalId, requestId } = evidence.request;
  const all = loggedFactsIn(evidence);
  // The log decides whether the request needed approval, regardless of the file.
  const logged = approvalIn(all.filter(({ target }) => target.id === requestId));
  if (logged !== approvalId)
    return logged === undefined
      ? ['the log has no approval of this request']
      : ['the approval of the request is missing'];
  if (logged === undefined) return evidence.approval === undefined ? [] : ['the log has no approval of this request'];
  const history = historyIn(all, requestId);
  const about = all.filter(({ target }) => target.id === logged);
  const missing = history?.filter((entry) => !about.some(({ id }) => id === entry)) ?? [];
  if (missing.length > 0) return [`entries about its approval are missing: ${missing.length}`];
  // A later extension concerns other requests of a batch, which were signed later.
  const facts = about.filter(({ id = '' }) => history === undefined || history.includes(id));
  const asked = facts.find(({ action }) => action === 'approval.requested');
  const decided = facts.find(({ action, detail }) => action === 'approval.decided' && detail['to'] === 'APPROVED');
  if (asked === undefined || decided === undefined || !isAbout(evidence, asked))
    return ['the log has no approval of this request'];
  const ended = facts.find(({ action, detail }) => action === 'approval.decided' && detail['to'] !== 'APPROVED');
  if (ended !== undefined) return [`according to the log, the approval ended as ${String(ended.detail['to'])}`];
  return [
    ...faultsOfShown(evidence),
    ...faultsOfVotes(evidence, asked, facts),
    ...faultsOfRejections(asked, facts),
    ...faultsOfSignIns(evidence, facts),
  ];
}

/**
 * Returns the IDs of all log entries about the approval at the time of the last claim. The entry about the claim lists these IDs, so that a file cannot omit
 * rejections or extensions. Returns undefined if an earlier version of the service claimed the request.
 */
function historyIn(facts: readonly LoggedFact[], requestId: string): readonly string[] | undefined {
  const own = facts.filter(({ target }) => target.id === requestId);
  const attempt = own.find(({ action }) => action === 'signing.signed')?.detail['attempt'];
  const claim = own.find(({ action, detail }) => action === 'signing.claimed' && detail['attempt'] === attempt);
  return claim?.detail['approvalEntries'] as readonly string[] | undefined;
}

/** Returns a notice if the log does not have the complete history of the approval, because an earlier version of the service claimed the request. */
export function unsaidOfApproval(evidence: EvidenceFile): string[] {
  const { approvalId, requestId } = evidence.request;
  if (approvalId === undefined || historyIn(loggedFactsIn(evidence), requestId) !== undefined) return [];
  return ['the log does not show whether the approval had other votes or extensions'];
}

/** Reports whether the log contains the hash of the document that the file presents as approved, either directly or as a leaf of the batch manifest. */
function isAbout({ approval }: EvidenceFile, { detail }: LoggedFact): boolean {
  if (approval === undefined) return false;
  const { shown, place = 0, path = [] } = approval;
  const text = canonicalJson(shown);
  if (detail['subject'] !== 'signing-batch')
    return detail['hash'] === createHash('sha256').update(text).digest('base64');
  const { size, root } = detail['manifest'] as { size: number; root: string };
  const hashes = path.map((one) => base64Bytes(one));
  const found = rootOfInclusion({ index: place, size, leaf: leafHash(text), path: hashes });
  return found?.toString('base64') === root;
}

/** Returns the differences between the approved document and this request. */
function faultsOfShown({ approval, request, key }: EvidenceFile): string[] {
  const shown = approval?.shown ?? {};
  const { requestId, digest, algorithm, scheme, format, metadata = shown['metadata'] } = request;
  const used = shown['key'] as { readonly name: string; readonly version: number };
  const claimed = { requestId, digest, algorithm, scheme, format };
  return [
    ...Object.entries(claimed).flatMap(([name, value]) =>
      shown[name] === value ? [] : [`the approvers were shown a different ${name}: ${String(shown[name])}`],
    ),
    ...(canonicalJson(shown['metadata'] ?? {}) === canonicalJson(metadata ?? {})
      ? []
      : ['the approvers were shown different metadata']),
    ...(used.name === key.name && used.version === key.version ? [] : ['the approvers were shown a different key']),
  ];
}

function faultsOfVotes({ approval }: EvidenceFile, asked: LoggedFact, facts: readonly LoggedFact[]): string[] {
  const requester = approval?.shown['requester'] as { readonly person: string };
  // `requesters` are the people who were shown a secret of the requesting credential. Entries of earlier versions do not list these people.
  const never = new Set([requester.person, ...((asked.detail['requesters'] as string[] | undefined) ?? [])]);
  const stages = rulesInEffect(asked, facts)['stages'] as { readonly group: string; readonly threshold: number }[];
  // A person's vote counts in only one stage.
  const counted = new Set<string>();
  return stages.flatMap(({ group, threshold }, stage) => {
    const votes = facts.filter(
      ({ action, detail }) =>
        action === 'approval.approved' && detail['stage'] === stage && detail['hash'] === asked.detail['hash'],
    );
    const people = new Set(votes.map(({ actor }) => actor.id).filter((id) => !never.has(id) && !counted.has(id)));
    for (const id of people) counted.add(id);
    return people.size >= threshold
      ? []
      : [`only ${people.size} of the required ${threshold} members of ${group} approved`];
  });
}

/** Returns the approval rules in effect. A stricter policy adds stages to the original stages and may change the rejection threshold. */
function rulesInEffect(asked: LoggedFact, facts: readonly LoggedFact[]): LoggedFact['detail'] {
  return (facts.findLast(({ action }) => action === 'approval.extended') ?? asked).detail;
}

/** Returns a fault if the number of rejections reaches the threshold. Entries of earlier versions do not contain the threshold. */
function faultsOfRejections(asked: LoggedFact, facts: readonly LoggedFact[]): string[] {
  const { rejectThreshold } = rulesInEffect(asked, facts);
  if (typeof rejectThreshold !== 'number') return [];
  const rejecting = facts.filter(({ action }) => action === 'approval.rejected').map(({ actor }) => actor.id);
  const { size } = new Set(rejecting);
  return size < rejectThreshold
    ? []
    : [`${size} people rejected the request, which reaches the threshold of ${rejectThreshold}`];
}

/**
 * Returns the faults of the voters' sign-ins. Every vote references the entry about the sign-in that started the voter's session, and the file must contain
 * that entry, with the same person and session. Votes recorded by earlier versions of the service do not reference a sign-in.
 */
function faultsOfSignIns(evidence: EvidenceFile, facts: readonly LoggedFact[]): string[] {
  const signIns = signInsIn(evidence);
  const votes = facts.filter(({ action, detail }) => action === 'approval.approved' && detail['signIn'] !== undefined);
  return votes.flatMap(({ actor, detail }) => {
    const signIn = signIns.find(({ id, action }) => id === detail['signIn'] && action === 'auth.signed-in');
    if (signIn === undefined) return [`the sign-in of the approver ${actor.id} is missing`];
    const isSame = signIn.target.id === actor.id && signIn.detail['session'] === detail['session'];
    return isSame ? [] : [`${actor.id} approved in a session of a different sign-in`];
  });
}
