import type { EvidenceFile, LoggedFact } from './evidence-file.js';

/** Actions that end an attempt without a signature, after which another attempt follows. */
const INTERRUPTED = ['signing.released', 'signing.outcome-unknown'];

/**
 * Returns faults if the file lacks steps that a signed request must have in the log: it was accepted once, every attempt was started, every attempt but the
 * last was interrupted, and a request that required approval was released. This detects steps that were removed from the file.
 */
export function faultsOfSteps({ request: { requestId } }: EvidenceFile, facts: readonly LoggedFact[]): string[] {
  const own = facts.filter(({ target }) => target.id === requestId);
  const accepted = own.filter(({ action }) => action === 'signing.accepted');
  const signed = own.filter(({ action }) => action === 'signing.signed');
  const [first] = accepted;
  const [end] = signed;
  if (first === undefined || accepted.length > 1) return [`it has ${accepted.length} acceptance entries instead of 1`];
  if (end === undefined || signed.length > 1) return [`it has ${signed.length} signature entries instead of 1`];
  return [...faultsOfAttempts(own, first, end), ...faultsOfRelease(own, first)];
}

function faultsOfAttempts(own: readonly LoggedFact[], accepted: LoggedFact, signed: LoggedFact): string[] {
  const attempts = Number(signed.detail['attempt']);
  const has = (actions: readonly string[], attempt: number) =>
    own.some(({ action, detail }) => actions.includes(action) && detail['attempt'] === attempt);
  const faults: string[] = [];
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const isBegun = has(['signing.claimed'], attempt) || (attempt === 1 && accepted.detail['to'] === 'PROCESSING');
    if (!isBegun) faults.push(`the start of attempt ${attempt} is missing`);
    if (attempt < attempts && !has(INTERRUPTED, attempt)) faults.push(`the end of attempt ${attempt} is missing`);
    if (faults.length > 0) break;
  }
  return faults;
}

function faultsOfRelease(own: readonly LoggedFact[], accepted: LoggedFact): string[] {
  if (accepted.detail['to'] !== 'PENDING_APPROVAL') return [];
  const approval = approvalIn(own);
  const isReleased = own.some(({ action, detail }) => action === 'signing.approved' && detail['approval'] === approval);
  return isReleased ? [] : ['the release by the approval is missing'];
}

/** Returns the last approval that the request was waiting for, according to the log; undefined if none was required. */
export function approvalIn(facts: readonly LoggedFact[]): string | undefined {
  const last = facts.findLast(({ action }) => action === 'signing.accepted' || action === 'signing.approval-renewed');
  const approval = last?.detail['approval'];
  return typeof approval === 'string' ? approval : undefined;
}
