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
          testTimeout: 30_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'shipped',
          include: ['test/shipped/**/*.spec.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: 'bench',
          include: ['bench/**/*.bench.ts'],
          testTimeout: 900_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          disableConsoleIntercept: true,
        },
      },
    ],
  },
});
