import { createHash } from 'node:crypto';
import type { JournalEntry } from '../../../test/fakes/pkcs11-shim/shim.js';
import type { AuditRow, Evidence, LogEvidence } from '../evidence.js';
import type { Check, Finding } from './finding.js';

/** Invariant 5: every HSM operation has an intent that was committed before the operation. */
export const intentFirst: Check = ({ rows, entriesOf, operations, keys, entries, log }: Evidence): Finding => {
  const idOf = new Map(rows.map(({ reference, id }) => [reference, id]));
  const violations: string[] = [];
  let calls = 0;
  let intents = 0;
  for (const [name, journal] of operations.byIntent) {
    const committed = (entriesOf.get(idOf.get(name) ?? '') ?? []).filter(isIntent).map((entry) => entry.committed);
    const asked = journal.filter(({ kind }) => kind === 'ask');
    calls += asked.length;
    intents += committed.length;
    asked.forEach(({ time }, index) => {
      const earlier = committed.filter((at) => at <= time).length;
      if (earlier <= index)
        violations.push(`${name}: call ${index + 1} of C_Sign came after ${earlier} committed intents`);
    });
  }
  for (const { hex } of operations.ofRefused) violations.push(`C_Sign was given ${hex}, which had been refused`);
  for (const { key } of operations.foreign) violations.push(`C_Sign was called with an unknown key, CKA_ID ${key}`);
  const tests = operations.unasked.filter(({ kind }) => kind === 'ask');
  for (const { id, name, ckaId } of keys) {
    const mine = tests.filter(({ key }) => key === ckaId);
    const made = entries.find((entry) => entry.targetId === id && entry.action === 'signing-key.generated');
    const late = mine.filter(({ time }) => made === undefined || time > made.committed);
    if (mine.length > 1 || late.length > 0)
      violations.push(`key ${name}: ${mine.length} calls over data that nobody sent, ${late.length} after it was made`);
  }
  violations.push(...strayCheckpoints(log, operations.ofLog));
  const canary = operations.canary.filter(({ kind }) => kind === 'ask').length;
  return {
    id: '5',
    title: 'every C_Sign has an intent that was committed earlier; per digest no more calls than intents',
    figures: `${calls} calls for requests, ${intents} intents; apart: ${canary} of the canary key, ${operations.ofLog.length} of the log's, ${tests.length} self-tests of new keys`,
    violations,
  };
};

/**
 * Returns the C_Sign calls with the log's key whose data is not a checkpoint of this log. The tree hashes and note texts are computed independently, according
 * to RFC 6962 and C2SP.
 */
function strayCheckpoints({ leaves, origin }: LogEvidence, calls: readonly JournalEntry[]): string[] {
  const sha256 = (...parts: (Buffer | string)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
  const peaks: { height: number; hash: Buffer }[] = [];
  const allowed = new Set<string>();
  leaves.forEach((leaf, index) => {
    let peak = { height: 0, hash: leaf };
    while (peaks.at(-1)?.height === peak.height) {
      const left = peaks.pop()?.hash ?? Buffer.alloc(0);
      peak = { height: peak.height + 1, hash: sha256(Buffer.from([1]), left, peak.hash) };
    }
    peaks.push(peak);
    const root = peaks.map(({ hash }) => hash).reduceRight((right, left) => sha256(Buffer.from([1]), left, right));
    allowed.add(sha256(`${origin}\n${index + 1}\n${root.toString('base64')}\n`).toString('hex'));
  });
  // Like every new key, the log's key first makes a trial signature: a checkpoint over the empty tree.
  allowed.add(sha256(`${origin}\n0\n${sha256().toString('base64')}\n`).toString('hex'));
  return calls
    .filter(({ kind }) => kind === 'ask')
    .filter(({ hex }) => !allowed.has(hex))
    .map(({ hex }) => `the key of the log signed ${hex}, which is no checkpoint of it`);
}

/** Invariant 6: every HSM operation without a recorded signature has an explanation. */
export const explained: Check = ({ rows, entriesOf, operations }: Evidence): Finding => {
  const violations: string[] = [];
  const sum = { made: 0, failed: 0, lost: 0, recorded: 0, discarded: 0, explanations: 0 };
  for (const { id, reference, status } of rows) {
    const journal = operations.byIntent.get(reference) ?? [];
    const returned = journal.filter(({ kind }) => kind === 'sign');
    const made = returned.filter(({ result }) => result === 0).length;
    const lost = journal.length - 2 * returned.length;
    const of = entriesOf.get(id) ?? [];
    const recorded = status === 'SIGNED' ? 1 : 0;
    const explanations = of.filter(explains).length;
    const discarded = of.filter(({ action, detail }) => action === 'signing.discarded' && detail.late === 'SIGNED');
    const unknown = new Set(of.filter(isOutcomeUnknown).map(({ detail }) => detail.attempt));
    if (made < recorded + discarded.length) violations.push(`${id}: more signatures recorded than the HSM made`);
    if (made + lost - recorded > explanations)
      violations.push(
        `${id}: ${made + lost} operations, ${recorded} recorded, ${explanations} entries that explain one`,
      );
    const stray = discarded.filter(({ detail }) => !unknown.has(detail.attempt)).length;
    if (stray > 0) violations.push(`${id}: ${stray} outcomes discarded of attempts that nobody took over`);
    sum.made += made;
    sum.failed += returned.length - made;
    sum.lost += lost;
    sum.recorded += recorded;
    sum.discarded += discarded.length;
    sum.explanations += explanations;
  }
  return {
    id: '6',
    title: 'operations − recorded signatures = discarded, released, failed or unknown outcomes, all in the log',
    figures:
      `${sum.made} made + ${sum.lost} cut short + ${sum.failed} refused by the HSM, ${sum.recorded} recorded, ` +
      `${sum.discarded} late ones discarded, ${sum.explanations} entries explain the rest`,
    violations,
  };
};

function isIntent({ action, detail }: AuditRow): boolean {
  return action === 'signing.claimed' || (action === 'signing.accepted' && detail.attempt === 1);
}

/** Reports whether an entry explains an HSM operation that did not produce the recorded signature. */
function explains({ action, detail }: AuditRow): boolean {
  return (
    action === 'signing.released' ||
    (action === 'signing.failed' && detail.from === 'PROCESSING') ||
    isOutcomeUnknown({ action })
  );
}

function isOutcomeUnknown({ action }: Pick<AuditRow, 'action'>): boolean {
  return action === 'signing.outcome-unknown';
}
