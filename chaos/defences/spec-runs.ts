import { join } from 'node:path';
import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node';

/** A test that ran. */
export interface RunTest {
  /** With the names of what it is in. */
  readonly name: string;
  readonly passed: boolean;
  /** Why it failed; empty if it did not. */
  readonly message: string;
}

export interface SpecRun {
  readonly tests: readonly RunTest[];
  /** What kept the file from running; empty if nothing did. */
  readonly trouble: string;
}

/** By what a test says that something is not so: vitest's assertions, fast-check's counterexamples, and what `until` waited for in vain. */
const ASSERTED = /AssertionError|Property failed|: not within [\d.]+ seconds/;
const MAX_TEST_MS = 240_000;

/** Whether the test failed by what it asserts, and not because something could not be started. */
export function failedByAssertion({ passed, message }: RunTest): boolean {
  return !passed && ASSERTED.test(message);
}

/** Unit tests need no built service. */
export function isUnit(spec: string): boolean {
  return spec.startsWith('src/') || spec.startsWith('test/source/');
}

/** Runs the tests of a tree again and again in one vitest, which reads only what was changed anew. */
export class SpecRuns {
  private constructor(
    private readonly root: string,
    private readonly vitest: Vitest,
  ) {}

  static async open(root: string): Promise<SpecRuns> {
    // What fails is not tried again: without its defence a test must fail the first time.
    const common = { root, watch: false, retry: 0, testTimeout: MAX_TEST_MS, reporters: [{}] };
    // A worker that is used again would still have modules of the run before.
    const vitest = await createVitest('test', { ...common, project: ['unit', 'service'], isolate: true });
    return new SpecRuns(root, vitest);
  }

  /** Runs the tests of a file whose names hold one of `names`, or all. */
  async run(spec: string, names: readonly string[]): Promise<SpecRun> {
    const escaped = names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    this.vitest.setGlobalTestNamePattern(new RegExp(escaped.join('|')));
    const found = await this.vitest.globTestSpecifications([spec]);
    const { testModules: all, unhandledErrors } = await this.vitest.runTestSpecifications(found);
    // Those of earlier runs are among them.
    const testModules = all.filter(({ moduleId }) => found.some((one) => one.moduleId === moduleId));
    const trouble = [...unhandledErrors, ...testModules.flatMap((one) => troubleOf(one))].map(textOf);
    return {
      tests: testModules.flatMap((one) => [...one.children.allTests()].flatMap(testOf)),
      trouble: trouble.join('\n'),
    };
  }

  /** To be called when a file of the tree was changed. */
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

/** Faults outside of tests: of a hook, or of an import. */
function troubleOf(module: TestModule): unknown[] {
  return [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
}

function textOf(error: unknown): string {
  const { name = '', message = String(error) } = (error ?? {}) as { name?: string; message?: string };
  return `${name}: ${message}`;
}
