import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They take a minute and more, and begin in this order: begun last, they would be waited for alone. */
const SLOW = [
  'console/pages',
  'contract/hostile-values',
  'alerts/alerts',
  'console/journeys',
  'ssh-keys/rotation',
  'auth/key-care',
  'signing/crashes',
  'timestamping/authority',
  'agent/tools',
  'agent/waiting',
];

/** What takes long comes first, then as always. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = SLOW.findIndex((name) => moduleId.endsWith(`/${name}.spec.ts`));
      return found === -1 ? SLOW.length : found;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}

/** More than the cores of a small machine: much of their time tests wait for processes to start, and for clocks. With three, two cores idle for a fifth of it. */
const FILES_AT_ONCE = 4;
/** Of a machine that takes longer than this for the smallest program: most of the time tests wait for each other there. */
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
  // Limits for a machine that is busy with other things; a test that takes longer hangs.
  testTimeout: 600_000,
  hookTimeout: 900_000,
  // A machine that stalls for a second must not look like a fault; what fails twice is one.
  retry: 1,
  sequence: { groupOrder: 1 },
  maxWorkers: slow ? FILES_ON_SLOW : FILES_AT_ONCE,
  // Files keep no state outside of themselves: modules are loaded once for each worker, not for each file.
  isolate: false,
};

/**
 * unit: pure files, and what is said of all sources. service: what was built, on real PostgreSQL, Redis and SoftHSM. long: as service, files
 * that take minutes each; `npm run check -- long`.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    projects: [
      // Vitest runs projects with other numbers of workers after one another, and wants to be told in which order.
      {
        test: {
          name: 'unit',
          include: ['src/**/*.spec.ts', 'test/source/**/*.spec.ts'],
          // For a machine that is busy with other things.
          testTimeout: 60_000,
          // They compute: one file for each core, and modules are loaded once for each core, not for each file.
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
