import { join } from 'node:path';
import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node';

/** A test that ran. */
export interface RunTest {
  /** Full name, including the enclosing suites. */
  readonly name: string;
  readonly passed: boolean;
  /** Failure message; empty if the test passed. */
  readonly message: string;
}

export interface SpecRun {
  readonly tests: readonly RunTest[];
  /** Error that prevented the file from running; empty if the file ran. */
  readonly trouble: string;
}

/** Messages of failed assertions: vitest's assertions, fast-check's counterexamples, and time-outs of `until`. */
const ASSERTED = /AssertionError|Property failed|: not within [\d.]+ seconds/;
const MAX_TEST_MS = 240_000;

/** Reports whether an assertion failed, as opposed to a process that could not be started. */
export function failedByAssertion({ passed, message }: RunTest): boolean {
  return !passed && ASSERTED.test(message);
}

/** Reports whether a test file contains unit tests, which do not need a built service. */
export function isUnit(spec: string): boolean {
  return spec.startsWith('src/') || spec.startsWith('test/source/');
}

/** Runs the tests of a tree repeatedly in one vitest instance, which reloads only changed files. */
export class SpecRuns {
  private constructor(
    private readonly root: string,
    private readonly vitest: Vitest,
  ) {}

  static async open(root: string): Promise<SpecRuns> {
    // No retries: a test must fail the first time when its defence is removed.
    const common = { root, watch: false, retry: 0, testTimeout: MAX_TEST_MS, reporters: [{}] };
    // A reused worker would keep the modules that were loaded in the previous run.
    const vitest = await createVitest('test', { ...common, project: ['unit', 'service'], isolate: true });
    return new SpecRuns(root, vitest);
  }

  /** Runs the tests of a file whose names contain one of `names`, or all tests if there are none. */
  async run(spec: string, names: readonly string[]): Promise<SpecRun> {
    const escaped = names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    this.vitest.setGlobalTestNamePattern(new RegExp(escaped.join('|')));
    const found = await this.vitest.globTestSpecifications([spec]);
    const { testModules: all, unhandledErrors } = await this.vitest.runTestSpecifications(found);
    // The result also contains the test files of earlier runs.
    const testModules = all.filter(({ moduleId }) => found.some((one) => one.moduleId === moduleId));
    const trouble = [...unhandledErrors, ...testModules.flatMap((one) => troubleOf(one))].map(textOf);
    return {
      tests: testModules.flatMap((one) => [...one.children.allTests()].flatMap(testOf)),
      trouble: trouble.join('\n'),
    };
  }

  /** Invalidates a changed file. Must be called after every change in the tree. */
  changed(file: string): void {
    this.vitest.invalidateFile(join(this.root, file));
  }

  close(): Promise<void> {
    return this.vitest.close();
  }
}

function testOf(test: TestCase): RunTest[] {
  const { state, errors = [] } = test.result();
  if (state !== 'passed' && state !== 'failed') return [];
  return [{ name: test.fullName, passed: state === 'passed', message: errors.map(textOf).join('\n') }];
}

/** Returns the errors that occurred outside of tests, in hooks or imports. */
function troubleOf(module: TestModule): unknown[] {
  return [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
}

function textOf(error: unknown): string {
  const { name = '', message = String(error) } = (error ?? {}) as { name?: string; message?: string };
  return `${name}: ${message}`;
}
