import { defineConfig } from 'vitest/config';

/** unit: pure files. service: the real application on real PostgreSQL, Redis and SoftHSM. shipped: what `nest build` made. */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['src/**/*.spec.ts'] } },
      {
        test: {
          name: 'service',
          include: ['test/**/*.spec.ts'],
          exclude: ['test/shipped/**'],
          // Limits for a machine that is busy with other things; a test that takes longer hangs.
          testTimeout: 180_000,
          hookTimeout: 240_000,
          // A machine that stalls for a second must not look like a fault; what fails twice is one.
          retry: 1,
          // More than the cores of a small machine: much of their time tests wait for processes to start, and for clocks.
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'shipped',
          include: ['test/shipped/**/*.spec.ts'],
          testTimeout: 180_000,
          hookTimeout: 240_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
