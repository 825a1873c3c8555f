import { createHash } from 'node:crypto';
import type { AuditRow, Evidence, RequestRow } from '../evidence.js';
import type { Check, Finding } from './finding.js';

/** The documented transitions, which are not taken from the service's table, so that an error in that table is detected. */
const LEGAL = new Set([
  'none→QUEUED',
  'none→PROCESSING',
  'none→PENDING_APPROVAL',
  'PENDING_APPROVAL→QUEUED',
  'PENDING_APPROVAL→FAILED',
  'PENDING_APPROVAL→PENDING_APPROVAL',
  'QUEUED→PENDING_APPROVAL',
  'QUEUED→PROCESSING',
  'QUEUED→FAILED',
  'PROCESSING→SIGNED',
  'PROCESSING→FAILED',
  'PROCESSING→QUEUED',
]);

/** Invariant 3: replaying the audit log yields only legal transitions and ends in the state of the row. */
export const legalMoves: Check = ({ rows, entriesOf }: Evidence): Finding => {
  const violations: string[] = [];
  let moves = 0;
  for (const { id, status } of rows) {
    let state = 'none';
    for (const { action, detail } of entriesOf.get(id) ?? []) {
      if (detail.to === undefined) continue;
      const from = detail.from ?? 'none';
      moves += 1;
      if (from !== state) violations.push(`${id}: ${action} says it left ${from}, but it was ${state}`);
      if (!LEGAL.has(`${state}→${detail.to}`)) violations.push(`${id}: ${action} moved ${state} to ${detail.to}`);
      state = detail.to;
    }
    if (state !== status) violations.push(`${id}: the log ends with ${state}, the row is ${status}`);
  }
  return {
    id: '3',
    title: 'only legal moves, none out of a final state; the row is where the log ends',
    figures: `${moves} moves of ${rows.length} requests replayed in the order of their commits`,
    violations,
  };
};

/** Invariant 4: a signature is recorded once and never changes. */
export const signedOnce: Check = ({ rows, entriesOf, answers, observed }: Evidence): Finding => {
  const violations = observed.changes.filter((change) => change.startsWith('the signature'));
  const stored = new Map<string, string>();
  for (const row of rows) {
    const signed = (entriesOf.get(row.id) ?? []).filter(({ action }) => action === 'signing.signed');
    const wrong = wrongRecord(row, signed);
    if (wrong !== undefined) violations.push(`${row.id}: ${wrong}`);
    if (row.signature !== null) stored.set(row.id, row.signature.toString('base64'));
  }
  const told = answers.filter(({ signature }) => signature !== undefined);
  for (const { id, signature, intent } of told) {
    if (stored.get(id ?? '') !== signature)
      violations.push(`${intent.name}: a client got another signature than is stored`);
  }
  return {
    id: '4',
    title: 'one signing.signed per SIGNED request, its hash that of the stored signature, which never changes',
    figures: `${stored.size} signatures stored, ${told.length} told to clients, ${observed.reads} reads of the table`,
    violations,
  };
};

function wrongRecord({ status, signature }: RequestRow, signed: readonly AuditRow[]): string | undefined {
  const wanted = status === 'SIGNED' ? 1 : 0;
  if (signed.length !== wanted) return `${status} with ${signed.length} signing.signed entries`;
  if (signature === null) return status === 'SIGNED' ? 'SIGNED without a signature' : undefined;
  const hash = createHash('sha256').update(signature).digest('base64');
  return signed[0]?.detail.signatureSha256 === hash ? undefined : 'the entry has the hash of another signature';
}

const INTENTS = new Set(['signing.accepted', 'signing.claimed']);
const ENDINGS = new Set(['signing.signed', 'signing.failed', 'signing.released', 'signing.outcome-unknown']);

/** Invariant 12: the log is complete and unmodified, each entry is one leaf of the tree, and the tree verifies offline. */
export const completeLog: Check = ({ rows, entries, entriesOf, observed, log }: Evidence): Finding => {
  const violations = observed.changes.filter((change) => change.startsWith('audit entry'));
  const touched = entries.filter(({ untouched }) => !untouched).length;
  if (touched > 0) violations.push(`${touched} entries were touched by a later transaction`);
  violations.push(...log.findings);
  if (log.leaves.length !== log.entries) violations.push(`${log.entries} entries, but ${log.leaves.length} leaves`);
  const known = new Set(rows.map(({ id }) => id));
  for (const id of entriesOf.keys())
    if (!known.has(id)) violations.push(`entries about ${id}, of which there is no row`);
  for (const { id, attempt } of rows) {
    const of = entriesOf.get(id) ?? [];
    const accepted = of.filter(({ action }) => action === 'signing.accepted').length;
    if (accepted !== 1) violations.push(`${id}: ${accepted} signing.accepted entries`);
    for (let number = 1; number <= attempt; number += 1) {
      const mine = of.filter(({ detail }) => detail.attempt === number);
      const begun = mine.filter(({ action }) => INTENTS.has(action)).length;
      const ended = mine.filter(({ action }) => ENDINGS.has(action)).length;
      if (begun !== 1 || ended !== 1)
        violations.push(`${id}: attempt ${number} has ${begun} intents and ${ended} ends`);
    }
    const beyond = of.filter(({ detail }) => (detail.attempt ?? 0) > attempt).length;
    if (beyond > 0) violations.push(`${id}: ${beyond} entries of attempts that the row does not count`);
  }
  return {
    id: '12',
    title: 'the log of every request is complete, no entry was changed, and its Merkle tree verifies offline',
    figures: `${entries.length} entries, ${observed.entries} of them compared with an earlier read, ${log.leaves.length} leaves`,
    violations,
  };
};
