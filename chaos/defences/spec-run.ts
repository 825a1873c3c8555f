import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A test that ran. */
export interface RunTest {
  /** Path of its file from the root. */
  readonly spec: string;
  /** With the names of what it is in. */
  readonly name: string;
  readonly passed: boolean;
  /** Why it failed; empty if it did not. */
  readonly message: string;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

export interface SpecRun {
  readonly tests: readonly RunTest[];
  /** What kept a file from running at all. */
  readonly trouble: string;
}

/** By what a test says that something is not so: vitest's assertions, fast-check's counterexamples, and what `until` waited for in vain. */
const ASSERTED = /AssertionError|Property failed|: not within [\d.]+ seconds/;
const MAX_TEST_MS = 240_000;

/** Whether the test failed by what it asserts, and not because something could not be started. */
export function failedByAssertion({ passed, message }: RunTest): boolean {
  return !passed && ASSERTED.test(message);
}

/** Unit specs need no built service. */
export function isUnit(spec: string): boolean {
  return spec.startsWith('src/') || spec.startsWith('test/source/');
}

/** Runs tests in the tree at `root`, those whose names hold one of `names`, or all. Each test once: what fails is not tried again. */
export function runSpecs(root: string, specs: readonly string[], names: readonly string[] = []): SpecRun {
  const report = join(root, '.specs.json');
  rmSync(report, { force: true });
  const project = specs.every(isUnit) ? 'unit' : 'service';
  const pattern = names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [
    vitest,
    'run',
    '--root',
    root,
    '--project',
    project,
    '--retry',
    '0',
    '--testTimeout',
    String(MAX_TEST_MS),
  ];
  args.push('--reporter', 'json', '--outputFile', report, ...(pattern === '' ? [] : ['-t', pattern]), ...specs);
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  const found = read(report);
  if (found === undefined) return { tests: [], trouble: `${stdout}${stderr}`.slice(-2000) };
  const trouble = found.testResults.map(({ message }) => message).filter((message) => message !== '');
  return { tests: testsOf(found, root), trouble: trouble.join('\n').slice(0, 2000) };
}

function read(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

function testsOf({ testResults }: Report, root: string): RunTest[] {
  return testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages }) => ({
        spec: relative(root, file),
        name: fullName,
        passed: status === 'passed',
        message: failureMessages.join('\n'),
      })),
  );
}
