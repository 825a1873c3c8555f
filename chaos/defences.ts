import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Checkout } from './defences/checkout.js';
import type { Mutation } from './defences/mutation.js';
import { MUTATIONS } from './defences/mutations.js';
import { failedByAssertion, isUnit, SpecRuns } from './defences/spec-runs.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- defences [NUMBER …] [--unit]
 * Removes each defence against a finding of the security review (docs/attacks.md) from a copy of the tree, one at a time, and runs the
 * defence's test. The test must pass with the defence, and an assertion must fail without the defence. NUMBER: only the defences against
 * these findings. --unit: only defences with a unit test, which takes a few minutes. Exits with 0 if each removal is detected.
 */
const { values, positionals } = parseArgs({
  options: { unit: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const numbers = positionals.map(Number);
const wanted = MUTATIONS.filter(
  ({ finding, spec }) => (numbers.length === 0 || numbers.includes(finding)) && (!values.unit || isUnit(spec)),
);

interface Result {
  readonly isMissed: boolean;
  /** Name of the test that failed, or a description of what happened instead. */
  readonly what: string;
}

const { say, check, conclude } = new Findings(true);
const results = new Map<Mutation, Result>();

/** Checks the defences tested by one file. The tests must first pass with all defences in place, because the copy's files are compiled one by one. */
async function watchedBy(spec: string, mutations: readonly Mutation[]): Promise<void> {
  for (const { file } of mutations) checkout.putBack(file);
  const names = mutations.every(({ test }) => test !== undefined) ? mutations.flatMap(({ test }) => test ?? []) : [];
  const { tests, trouble } = await runs.run(spec, names);
  const failed = tests.filter((one) => !one.passed).map(({ name, message }) => `${name}: ${message}`);
  const why = [trouble, ...failed].join('\n').trim().slice(0, 1000);
  check(`${spec}: ${tests.length} tests pass with every defence`, why === '' && tests.length > 0, why);
  const passed = new Set(tests.filter((one) => one.passed).map(({ name }) => name));
  for (const mutation of mutations) {
    const result = await without(mutation, passed);
    results.set(mutation, result);
    check(`${mutation.finding}: without "${mutation.defence}"`, result.isMissed, result.what);
  }
}

async function without(mutation: Mutation, passed: ReadonlySet<string>): Promise<Result> {
  const { file } = mutation;
  try {
    checkout.takeOut(mutation);
    runs.changed(file);
    return await resultOf(mutation, passed);
  } catch (error) {
    return { isMissed: false, what: error instanceof Error ? error.message : String(error) };
  } finally {
    checkout.putBack(file);
    runs.changed(file);
  }
}

async function resultOf({ spec, test }: Mutation, passed: ReadonlySet<string>): Promise<Result> {
  const { tests, trouble } = await runs.run(spec, test === undefined ? [] : [test]);
  const failed = tests.filter((one) => passed.has(one.name) && !one.passed);
  const missed = failed.find(failedByAssertion);
  if (missed !== undefined) return { isMissed: true, what: `"${missed.name}" fails` };
  const [other] = failed;
  if (other !== undefined)
    return { isMissed: false, what: `"${other.name}" does not run: ${other.message.slice(0, 500)}` };
  if (trouble !== '' || tests.length === 0)
    return { isMissed: false, what: `the tests do not run: ${trouble.slice(0, 500)}` };
  return { isMissed: false, what: `all ${tests.length} tests still pass` };
}

/** Prints the result for every defence, by finding. */
function tell(): void {
  say('');
  for (const [{ finding, defence, spec }, { isMissed, what }] of [...results].toSorted(
    ([a], [b]) => a.finding - b.finding,
  ))
    say(`| ${String(finding).padStart(2)} | ${defence} | ${spec} | ${isMissed ? what : `NOT MISSED: ${what}`} |`);
  say(`${results.size} defences against ${new Set([...results.keys()].map(({ finding }) => finding)).size} findings`);
}

const place = mkdtempSync(join(tmpdir(), 'sealwright-defences-'));
const checkout = new Checkout(join(place, 'checkout'));
process.chdir(checkout.path);
const runs = await SpecRuns.open(checkout.path);
try {
  for (const [watcher, watched] of Map.groupBy(wanted, ({ spec }) => spec)) await watchedBy(watcher, watched);
  tell();
} finally {
  await runs.close();
  process.chdir(tmpdir());
  rmSync(place, { recursive: true, force: true });
}
conclude('without any of them a test fails');
