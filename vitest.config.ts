import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take a minute or more, in the order in which they start. If they started last, the run would wait for them while other workers are idle. */
const SLOW = [
  'console/pages',
  'console/journeys',
  'contract/hostile-values',
  'ssh-keys/rotation',
  'alerts/alerts',
  'system/health',
  'auth/way-back',
  'auth/access',
  'inventory/export',
  'operations/doctor',
  'approvals/crashes',
  'signing/crashes',
  'system/boot',
  'system/instances',
  'agent/safe-signing',
  'operations/restore',
];

/** Runs the files in SLOW first and the rest in the default order. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = SLOW.findIndex((name) => moduleId.endsWith(`/${name}.spec.ts`));
      return found === -1 ? SLOW.length : found;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}

/**
 * Higher than the number of cores of a small machine, because tests spend much of their time waiting for processes and timers. With three files, two cores are
 * idle for a fifth of the time.
 */
const FILES_AT_ONCE = 4;
/**
 * Start time of an empty Node.js program above which a machine counts as slow. Tests on a slow machine mostly wait for each other, so fewer files run at once.
 */
const SLOW_START_MS = 80;
const FILES_ON_SLOW = 2;

function startsSlowly(): boolean {
  const starts = Array.from({ length: 5 }, () => {
    const began = performance.now();
    spawnSync(process.execPath, ['--eval', '']);
    return performance.now() - began;
  });
  return Math.min(...starts) > SLOW_START_MS;
}

const slow = startsSlowly();

const SOURCE = ['test/source/**'];
const LONG_FILES = 'test/**/*.long.spec.ts';

const ON_STORES = {
  // High enough for a busy machine. A test that exceeds this limit hangs.
  testTimeout: 400_000,
  hookTimeout: 900_000,
  // A machine that stalls for a second must not fail the run. A test that fails twice has a defect.
  retry: 1,
  expect: { poll: { timeout: 60_000 } },
  sequence: { groupOrder: 1 },
  maxWorkers: slow ? FILES_ON_SLOW : FILES_AT_ONCE,
  // Test files share no state, so modules are loaded once per worker instead of once per file.
  isolate: false,
};

/**
 * unit: tests without a service, including the rules for all sources. service: tests of the build on real PostgreSQL, Redis and SoftHSM. long: service tests
 * that take minutes each (`npm run check -- long`).
 */
export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    projects: [
      // Vitest runs projects with different numbers of workers one after another and requires an explicit order.
      {
        test: {
          name: 'unit',
          include: ['src/**/*.spec.ts', 'test/source/**/*.spec.ts'],
          // High enough for a busy machine.
          testTimeout: 60_000,
          // Unit tests are CPU-bound, so one file runs per core. Modules are loaded once per worker instead of once per file.
          maxWorkers: availableParallelism(),
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { name: 'service', include: ['test/**/*.spec.ts'], exclude: [...SOURCE, LONG_FILES], ...ON_STORES } },
      { test: { name: 'long', include: [LONG_FILES], ...ON_STORES } },
    ],
  },
});
