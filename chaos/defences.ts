import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Checkout } from './defences/checkout.js';
import type { Mutation } from './defences/mutation.js';
import { FINDINGS, MUTATIONS } from './defences/mutations.js';
import { failedByAssertion, isUnit, runSpecs } from './defences/spec-run.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- defences [NUMBER …] [--unit]
 * Takes each defence against a finding of the security review (docs/attacks.md) out of a copy of the tree, one at a time, and runs the test
 * that watches it: a test that passes with the defence must fail without it, by what it asserts. NUMBER: only the defences against these
 * findings. --unit: only those that a unit test watches, which takes a few minutes. Ends with 0 when every defence is missed.
 */
const { values, positionals } = parseArgs({
  options: { unit: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const numbers = positionals.map(Number);
const wanted = MUTATIONS.filter(
  ({ finding, spec }) => (numbers.length === 0 || numbers.includes(finding)) && (!values.unit || isUnit(spec)),
);

const { say, check, conclude } = new Findings(true);

/** Names of the tests that pass while every defence is there, although each file of the list was compiled by itself, by spec. */
function control(checkout: Checkout): Set<string> {
  for (const { file } of wanted) checkout.putBack(file);
  const passed = new Set<string>();
  for (const some of [wanted.filter(({ spec }) => isUnit(spec)), wanted.filter(({ spec }) => !isUnit(spec))]) {
    if (some.length === 0) continue;
    const specs = [...new Set(some.map(({ spec }) => spec))];
    const names = some.every(({ test }) => test !== undefined) ? some.flatMap(({ test }) => test ?? []) : [];
    const { tests, trouble } = runSpecs(checkout.path, specs, names);
    for (const test of tests) if (test.passed) passed.add(keyOf(test));
    const failed = tests.filter((test) => !test.passed);
    const why = [trouble, ...failed.map(({ name, message }) => `${name}: ${message.slice(0, 500)}`)].join('\n').trim();
    check(`with every defence ${tests.length} tests pass`, failed.length === 0 && tests.length > 0, why);
  }
  return passed;
}

function keyOf({ spec, name }: { spec: string; name: string }): string {
  return `${spec} ${name}`;
}

/** What became of the tests without the defence. */
function result(
  checkout: Checkout,
  { spec, test }: Mutation,
  passed: ReadonlySet<string>,
): { isMissed: boolean; what: string } {
  const { tests, trouble } = runSpecs(checkout.path, [spec], test === undefined ? [] : [test]);
  const failed = tests.filter((one) => passed.has(keyOf(one)) && !one.passed);
  const missed = failed.find(failedByAssertion);
  if (missed !== undefined) return { isMissed: true, what: `"${missed.name}" fails` };
  const [other] = failed;
  if (other !== undefined)
    return { isMissed: false, what: `"${other.name}" does not run: ${other.message.slice(0, 500)}` };
  if (trouble !== '' || tests.length === 0) return { isMissed: false, what: `the tests do not run: ${trouble}` };
  return { isMissed: false, what: `all ${tests.length} tests still pass` };
}

function miss(checkout: Checkout, mutation: Mutation, passed: ReadonlySet<string>): void {
  const { finding, defence, file, spec } = mutation;
  const name = `${String(finding).padStart(2)}  ${defence}`;
  try {
    checkout.takeOut(mutation);
    const { isMissed, what } = result(checkout, mutation, passed);
    check(name, isMissed, `${spec} ${what}`);
  } catch (error) {
    check(name, false, error instanceof Error ? error.message : String(error));
  } finally {
    checkout.putBack(file);
  }
}

const place = mkdtempSync(join(tmpdir(), 'sealwright-defences-'));
try {
  const checkout = new Checkout(join(place, 'checkout'));
  const passed = control(checkout);
  for (const mutation of wanted) miss(checkout, mutation, passed);
  if (numbers.length === 0) {
    const without = Array.from({ length: FINDINGS }, (_, i) => i + 1).filter(
      (n) => !MUTATIONS.some(({ finding }) => finding === n),
    );
    check('every finding has a defence here', without.length === 0, without.join(', '));
  }
  say(`        ${wanted.length} defences against ${new Set(wanted.map(({ finding }) => finding)).size} findings`);
} finally {
  rmSync(place, { recursive: true, force: true });
}
conclude('without any of them a test fails');
