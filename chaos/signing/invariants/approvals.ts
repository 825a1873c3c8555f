import { createHash } from 'node:crypto';
import type { ApprovalRow } from '../approvals.js';
import type { AuditRow, Evidence, RequestRow } from '../evidence.js';
import { GUARDED_KEY } from '../intents.js';
import { isRejected, THRESHOLD } from '../people.js';
import type { Check, Finding } from './finding.js';

/** Invariant 9: every digest that was signed with the guarded key had been approved in time by the required number of different eligible people. */
export const trulyApproved: Check = (evidence): Finding => {
  const { rows, approvals, entries, members, wrongVotes } = evidence;
  const violations = [...wrongVotes];
  const of = Map.groupBy(approvals, ({ requestId }) => requestId);
  for (const row of rows) {
    const mine = of.get(row.id) ?? [];
    if (row.keyName !== GUARDED_KEY) {
      if (mine.length > 0) violations.push(`${row.id}: an approval that no policy asks for`);
      continue;
    }
    const [approval, ...more] = mine;
    if (approval === undefined || more.length > 0) violations.push(`${row.id}: ${mine.length} approvals`);
    else violations.push(...wrongApproval(evidence, row, approval).map((what) => `${row.id}: ${what}`));
  }
  const cast = approvals.flatMap(({ votes }) => votes);
  const logged = entries.filter(({ action }) => action === 'approval.approved' || action === 'approval.rejected');
  if (logged.length !== cast.length) violations.push(`${cast.length} votes, ${logged.length} entries of votes`);
  const count = (status: string) => approvals.filter((one) => one.status === status).length;
  return {
    id: '9',
    title: 'what was approved is what was signed; enough different members said yes, in time, and never who asked',
    figures: `${count('APPROVED')} APPROVED, ${count('REJECTED')} REJECTED, ${cast.length} votes of ${members.length} members, ${evidence.refusedVotes} votes of others refused`,
    violations,
  };
};

function wrongApproval(evidence: Evidence, row: RequestRow, approval: ApprovalRow): string[] {
  const { votes, owner, hash, shown, status, stages } = approval;
  const { digest, requestId } = JSON.parse(shown) as { digest: string; requestId: string };
  const yes = votes.filter(({ decision }) => decision === 'APPROVE');
  const decided = decidedAt(evidence.entries, approval)?.committed ?? 0n;
  const wanted = isRejected(approval.id) ? 'REJECTED' : 'APPROVED';
  const holds: [boolean, string][] = [
    [status === wanted, `its approval is ${status}, not ${wanted}`],
    [fits(row, wanted), `it is ${row.status} ${row.failureCode ?? ''} although ${wanted}`],
    [stages.length === 1 && stages[0]?.threshold === THRESHOLD, 'other stages than the policy has'],
    [createHash('sha256').update(shown).digest().equals(hash), 'the hash is not that of what was shown'],
    [canonical(JSON.parse(shown)) === shown, 'what was shown is not in its canonical form'],
    [requestId === row.id && digest === row.digest.toString('base64'), 'something else was shown'],
    [status !== 'APPROVED' || yes.length >= THRESHOLD, `${yes.length} people said yes`],
    [new Set(votes.map(({ person }) => person)).size === votes.length, 'somebody voted twice'],
    [votes.every(({ person }) => evidence.members.includes(person) && person !== owner), 'somebody voted who may not'],
    [votes.every((vote) => vote.hash.equals(hash) && vote.stage === 0), 'a vote is on something else'],
    [votes.every(({ committed }) => committed <= decided), 'a vote came after the decision'],
    [decided <= BigInt(Math.ceil(approval.expires)) * 1_000_000n, 'it was decided after its time'],
  ];
  return holds.flatMap(([isSo, what]) => (isSo ? [] : [what]));
}

/** Reports whether the states match. A rejected request must end as rejected; an approved request may still fail, but not because approval is missing. */
function fits({ status, failureCode }: RequestRow, approval: string): boolean {
  if (approval === 'REJECTED') return status === 'FAILED' && failureCode === 'approval.rejected';
  return status === 'SIGNED' || (status === 'FAILED' && failureCode?.startsWith('approval.') === false);
}

/** Invariant 10: a pending request has no intent, and no HSM call precedes the decision. */
export const nothingBefore: Check = ({ rows, approvals, entries, entriesOf, operations }: Evidence): Finding => {
  const violations: string[] = [];
  const of = new Map(approvals.map((approval) => [approval.requestId, approval]));
  const held = rows.filter(({ keyName }) => keyName === GUARDED_KEY);
  let intents = 0;
  for (const { id, reference, status } of held) {
    const approval = of.get(id);
    const released = approval?.status === 'APPROVED' ? decidedAt(entries, approval)?.committed : undefined;
    const mine = (entriesOf.get(id) ?? []).filter(
      ({ action, detail }) => action === 'signing.claimed' || (action === 'signing.accepted' && detail.attempt === 1),
    );
    const calls = (operations.byIntent.get(reference) ?? []).filter(({ kind }) => kind === 'ask');
    intents += mine.length;
    const early = mine.filter(({ committed }) => released === undefined || committed < released).length;
    const rash = calls.filter(({ time }) => released === undefined || time < released).length;
    if (early > 0) violations.push(`${id}: ${early} intents before it was approved`);
    if (rash > 0) violations.push(`${id}: ${rash} calls of C_Sign before it was approved`);
    if (status === 'PENDING_APPROVAL' && mine.length > 0) violations.push(`${id}: it waits, and has an intent`);
  }
  return {
    id: '10',
    title: 'no request has an intent, and C_Sign is not called for it, before its approval is there',
    figures: `${held.length} requests that waited, ${intents} intents`,
    violations,
  };
};

function decidedAt(entries: readonly AuditRow[], { id }: ApprovalRow): AuditRow | undefined {
  return entries.find(({ action, targetId }) => action === 'approval.decided' && targetId === id);
}

/** Canonicalizes JSON (RFC 8785). Shares no code with the service. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`;
}
