import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { breakCopy, type ControlName, CONTROLS } from '../../chaos/signing/controls.js';
import type { AuditRow, Evidence } from '../../chaos/signing/evidence.js';
import { INVARIANTS } from '../../chaos/signing/invariants/all.js';
import { type Outcome, proveSigning } from '../../chaos/signing/prove.js';
import { reportText } from '../../chaos/signing/report.js';
import { FAULT_KINDS } from '../../chaos/signing/schedule.js';

type Tamper = (evidence: Evidence) => Partial<Evidence>;

/** Changes to a successful run's evidence that an invariant must detect. */
const TAMPERINGS: [id: string, what: string, tamper: Tamper][] = [
  ['1', 'a request was lost', ({ rows }) => ({ rows: rows.slice(1) })],
  ['1', 'a request was doubled', ({ rows }) => ({ rows: [...rows, { ...first(rows), id: 'another' }] })],
  [
    '1',
    'another body was accepted',
    ({ answers }) => ({
      answers: answers.map((one) => (one.purpose === 'other-body' ? { ...one, status: 200, code: undefined } : one)),
    }),
  ],
  ['2', 'a request never ended', ({ rows }) => ({ rows: replaceFirst(rows, { status: 'PROCESSING' }) })],
  ['2', 'a doorbell was never rung', () => ({ outboxLeft: 1 })],
  [
    '3',
    'a final state was left',
    (evidence) => logOfFirst(evidence, (log) => [...log, { ...first(log), detail: { from: 'SIGNED', to: 'QUEUED' } }]),
  ],
  [
    '4',
    'a signature was recorded twice',
    (evidence) => logOfFirst(evidence, (log) => [...log, ...log.filter(({ action }) => action === 'signing.signed')]),
  ],
  ['4', 'a signature changed', ({ rows }) => ({ rows: replaceFirst(rows, { signature: Buffer.from('another') }) })],
  [
    '5',
    'the HSM was asked before the intent was committed',
    (evidence) =>
      logOfFirst(evidence, (log) => log.map((entry) => ({ ...entry, committed: entry.committed + 10n ** 12n }))),
  ],
  [
    '5',
    'the HSM signed what nobody asked for',
    ({ operations }) => ({ operations: { ...operations, ofRefused: [...operations.byIntent.values()][0] ?? [] } }),
  ],
  [
    '5',
    'the key of the log signed what is no checkpoint of it',
    ({ log }) => ({ log: { ...log, leaves: log.leaves.slice(1) } }),
  ],
  [
    '6',
    'an operation is not explained',
    ({ operations, rows }) => {
      const { reference } = first(rows);
      const calls = operations.byIntent.get(reference) ?? [];
      return {
        operations: { ...operations, byIntent: new Map(operations.byIntent).set(reference, [...calls, ...calls]) },
      };
    },
  ],
  [
    '7',
    'a signature is wrong',
    ({ rows }) => ({ rows: replaceFirst(rows, { signature: first(rows.slice(1)).signature }) }),
  ],
  ['8', 'another key signed', ({ keys }) => ({ keys: keys.map((key) => ({ ...key, ckaId: first(keys).ckaId })) })],
  ['9', 'somebody voted who may not', ({ members }) => ({ members: members.slice(1) })],
  [
    '9',
    'one vote too few',
    ({ approvals }) => ({ approvals: replaceFirst(approvals, { votes: first(approvals).votes.slice(1) }) }),
  ],
  [
    '9',
    'another digest was approved',
    ({ approvals, rows }) => ({
      approvals: replaceFirst(approvals, { requestId: first(rows).id }),
    }),
  ],
  ['9', 'the vote of the requester was counted', () => ({ wrongVotes: ['a vote was counted'] })],
  [
    '10',
    'the HSM was asked before the approval',
    ({ entries }) => ({
      entries: entries.map((entry) =>
        entry.action === 'approval.decided' ? { ...entry, committed: entry.committed + 10n ** 12n } : entry,
      ),
    }),
  ],
  [
    '12',
    'an entry is missing',
    (evidence) => logOfFirst(evidence, (log) => log.filter(({ action }) => action !== 'signing.accepted')),
  ],
  ['12', 'an entry was changed', ({ entries }) => ({ entries: replaceFirst(entries, { untouched: false }) })],
  ['12', 'an entry has no leaf', ({ log }) => ({ log: { ...log, entries: log.entries + 1 } })],
  ['12', 'the log does not verify', ({ log }) => ({ log: { ...log, findings: ['leaf 7: its entry is gone'] } })],
  ['15', 'a secret was found', () => ({ leaks: ['PIN (hex) in logs: api-1.log'] })],
  ['16', 'a key may be extracted', ({ token }) => ({ token: replaceFirst(token, { extractable: true }) })],
];

function first<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined) throw new Error('the run left nothing to tamper with');
  return item;
}

function replaceFirst<T extends object>(items: readonly T[], change: Partial<T>): T[] {
  return [{ ...first(items), ...change }, ...items.slice(1)];
}

function logOfFirst(
  { rows, entriesOf }: Evidence,
  change: (log: readonly AuditRow[]) => AuditRow[],
): Partial<Evidence> {
  const { id } = first(rows);
  return { entriesOf: new Map(entriesOf).set(id, change(entriesOf.get(id) ?? [])) };
}

/** Runs a short version of the signing proof, with shorter deadlines and one fault of each kind, and checks every invariant. */
let outcome: Outcome;

beforeAll(async () => {
  const say = (): void => undefined;
  outcome = await proveSigning({ seed: 42, seconds: 18, rate: 33, faults: FAULT_KINDS.length, deadlineMs: 2000, say });
}, 900_000);

describe('signing under faults', () => {
  it('keeps every invariant', () => {
    expect(outcome.passed ? '' : reportText(outcome)).toBe('');
    expect(new Set(outcome.injected.map(({ kind }) => kind)).size).toBe(FAULT_KINDS.length);
  });

  it.each(TAMPERINGS)('is detected when it breaks invariant $0: $1', (id, _what, tamper) => {
    const evidence = { ...outcome.evidence, ...tamper(outcome.evidence) };
    const violated = INVARIANTS.map((check) => check(evidence)).filter(({ violations }) => violations.length > 0);
    expect(violated.map((finding) => finding.id)).toContain(id);
  });

  it.each(Object.keys(CONTROLS) as ControlName[])('has a control that applies to the build: %s', (name) => {
    const directory = mkdtempSync(join(tmpdir(), 'sealwright-control-'));
    const dist = breakCopy(name, directory);
    for (const { file } of CONTROLS[name].edits) {
      expect(() => execFileSync(process.execPath, ['--check', join(dist, file)], { stdio: 'pipe' })).not.toThrow();
    }
    rmSync(directory, { recursive: true });
  });
});
