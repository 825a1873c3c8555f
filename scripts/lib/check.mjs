import { CHECKS, ONLY_BY_NAME, QUICK } from './check-steps.mjs';
import { bold, green, red, say, seconds, showFailure, whileNotHalted, yellow } from './steps.mjs';

/**
 * runChecks runs all checks to completion regardless of failures, and prints the totals as `N passed, N failed`. Each test counts as one, and so does each
 * check that has no tests.
 * @param {(typeof CHECKS)[string][]} checks
 * @param {{ env: NodeJS.ProcessEnv, unchecked?: string[] }} context `unchecked` names what cannot be checked on this machine; skipped tests are added
 * @returns {Promise<number>} exit code: 1 if a check failed, or if something could not be checked in CI
 */
export async function runChecks(checks, { env, unchecked = [] }) {
  const begun = performance.now();
  const sum = { passed: 0, failed: 0 };
  const names = [...unchecked];
  const broken = [];
  for (const { title, passed, failed, skipped } of await outcomes(checks, { env })) {
    sum.passed += passed;
    sum.failed += failed;
    names.push(...skipped);
    if (failed > 0) broken.push(title);
  }
  say();
  if (broken.length > 0) say(`${red('✖')} failed: ${broken.join(', ')}`);
  sayUnchecked(names);
  say(`${bold('Time')} ${seconds(performance.now() - begun)}`);
  say(`${sum.passed} passed, ${sum.failed} failed`);
  const ok = sum.failed === 0 && sum.passed > 0;
  if (ok && names.length === 0) say(green('All checks passed.'));
  return ok && (names.length === 0 || !inCi()) ? 0 : 1;
}

async function outcomes(checks, context) {
  const { none = [], ...lanes } = Object.groupBy(checks, ({ lane = 'none' }) => lane);
  const quick = await Promise.all(Object.values(lanes).map((lane) => inTurn(lane, context)));
  return [...quick.flat(), ...(await inTurn(none, context))];
}

async function inTurn(checks, context) {
  const found = [];
  for (const check of checks) {
    found.push({ title: check.title, ...(await outcome(check, context)) });
    await whileNotHalted();
  }
  return found;
}

async function outcome(check, context) {
  try {
    return await check.run(context);
  } catch (error) {
    showFailure(error);
    return { passed: 0, failed: 1, skipped: [] };
  }
}

function sayUnchecked(names) {
  if (names.length === 0) return;
  say(yellow(`${names.length} could not be checked here${inCi() ? ', which CI does not allow' : ''}:`));
  for (const name of names) say(`  - ${name}`);
  say();
}

export const inCi = () => ['true', '1'].includes(process.env.CI ?? '');

/**
 * checksNamed returns the checks with these names, or all checks if no names are given. `quick` selects several checks. Returns undefined if a name is unknown.
 */
export function checksNamed(asked) {
  const names = [...new Set(asked.flatMap((name) => (name === 'quick' ? QUICK : [name])))];
  const unknown = names.filter((name) => !(name in CHECKS));
  if (unknown.length > 0) return undefined;
  const wanted = names.length === 0 ? Object.keys(CHECKS).filter((name) => !ONLY_BY_NAME.includes(name)) : names;
  return wanted.map((name) => CHECKS[name]);
}
