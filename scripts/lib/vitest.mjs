import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin } from './project.mjs';
import { run } from './run.mjs';
import { dim, red, say } from './steps.mjs';

const FAILURES = fileURLToPath(new URL('failures-reporter.mjs', import.meta.url));

/**
 * runVitest runs Vitest, which prints its own output, and takes the counts from its report.
 * @returns {Promise<{ passed: number, failed: number, skipped: string[] }>} skipped: full names of the tests that did not run
 */
export async function runVitest(title, args, { env }) {
  const directory = mkdtempSync(path.join(env.TMPDIR ?? tmpdir(), 'sealwright-report-'));
  try {
    const file = path.join(directory, 'report.json');
    say(`${dim('…')} ${title} tests`);
    const reporters = ['--reporter=default', `--reporter=${FAILURES}`, '--reporter=json', `--outputFile.json=${file}`];
    const { code } = await run(bin('vitest'), ['run', ...reporters, ...args], { env, show: true });
    const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
    if (report !== undefined) summarize(report);
    return count(report, code);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function count(report, code) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: [] };
  const tests = testsOf(report);
  const skipped = tests
    .filter(({ status }) => ['skipped', 'pending', 'todo', 'disabled'].includes(status))
    .map(({ fullName }) => fullName);
  // A file that cannot be loaded, or an error outside of tests, fails the run without a failed test.
  const files = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  );
  const failed = report.numFailedTests + files.length;
  return { passed: report.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed, skipped };
}

const testsOf = (report) => report.testResults.flatMap((file) => file.assertionResults);

const MAX_LINES = 8;

/** Summarizes failures, and tests that passed only on a retry, in a few lines each, because people read the end of a log first. */
function summarize(report) {
  for (const { name, assertionResults } of report.testResults) {
    const file = path.relative(process.cwd(), name);
    for (const { status, fullName, failureMessages: [first] = [] } of assertionResults) {
      if (first === undefined || !['passed', 'failed'].includes(status)) continue;
      const reason = first.split('\n').slice(0, MAX_LINES).join('\n');
      const mark = status === 'failed' ? red('✖ failed') : dim('… on retry');
      say(`${mark}: ${file} > ${fullName}\n${dim(reason)}`);
    }
  }
}
