import path from 'node:path';
import { build } from './build.mjs';
import { checkConsoleTypes } from './console.mjs';
import { findDeprecations } from './deprecations.mjs';
import { Failure } from './failure.mjs';
import { findIssued } from './issued-secrets.mjs';
import { bin } from './project.mjs';
import { run } from './run.mjs';
import { explainStatements } from './statement-plans.mjs';
import { step } from './steps.mjs';
import { runVitest } from './vitest.mjs';

/** Returns the path of a tool's cache, with which the next run processes only changed files. */
const cacheOf = (name) => path.join('node_modules', '.cache', 'sealwright', name);

/** Returns a check that runs a tool and shows its output only if the tool fails. */
const tool = (lane, title, program, args, remedy) => ({
  title,
  lane,
  run: async (context) => {
    const result = await step(title, async () => {
      const { code, output } = await run(bin(program), args, { env: context.env });
      if (code !== 0) throw new Failure(`${title} failed`, remedy, output);
      return { passed: 1, failed: 0, skipped: [] };
    });
    return result;
  },
});

/** The console is checked separately because its code uses browser types. */
const consoleTypes = {
  title: 'console types',
  lane: 2,
  run: () =>
    step('console types', async () => {
      await checkConsoleTypes();
      return { passed: 1, failed: 0, skipped: [] };
    }),
};

/** Returns the check that runs the tests of a project. The tests of the service start built processes, so the build must be current. */
const tests = (project) => ({
  title: `${project} tests`,
  needsStores: project !== 'unit',
  run: async (context) => {
    if (project !== 'unit') await step('build', () => build());
    return runVitest(project, ['--project', project], context);
  },
});

/** Checks that no secret issued by the tests is in a log, or in plain text in a database. Runs after the tests. */
const secrets = {
  title: 'issued secrets in logs and databases',
  needsStores: true,
  run: ({ env }) =>
    step('issued secrets in logs and databases', async (note) => {
      const { secrets: count, files, bytes, found } = findIssued(env.SW_TEST_EVIDENCE ?? '');
      note(`${count} secrets, ${files} files, ${Math.round(bytes / 1e6)} MB`);
      const places = found.map(({ file, beginning }) => `${beginning} in ${file}`).join('\n');
      if (found.length > 0)
        throw new Failure('Issued secrets were found in plain text', 'Find the code that wrote them.', places);
      if (count === 0) throw new Failure('No test recorded a secret', 'Run the service tests first: npm test');
      return { passed: 1, failed: 0, skipped: [] };
    }),
};

/** Checks that no process used a deprecated API of Node.js or of a package. Runs after the tests. */
const deprecations = {
  title: 'deprecated calls in logs',
  needsStores: true,
  run: ({ env }) =>
    step('deprecated calls in logs', () => {
      const { logs, found } = findDeprecations(env.SW_TEST_EVIDENCE ?? '');
      if (found.length > 0)
        throw new Failure(
          `${found.length} deprecated calls`,
          'Run with NODE_OPTIONS=--trace-deprecation to locate them.',
          found.join('\n'),
        );
      if (logs === 0) throw new Failure('No test recorded a log', 'Run the service tests first: npm test');
      return { passed: 1, failed: 0, skipped: [] };
    }),
};

/** Checks that no statement of the service reads a growing table from end to end. Runs after the tests. */
const plans = {
  title: 'plans of all statements',
  needsStores: true,
  run: ({ env }) =>
    step('plans of all statements', async (note) => {
      const { explained, findings, unused } = await explainStatements({
        adminUrl: env.SW_TEST_DATABASE_URL ?? '',
        evidence: env.SW_TEST_EVIDENCE ?? '',
      });
      if (explained === 0)
        throw new Failure('No statement was recorded', 'Run the service tests first: npm run check -- service plans');
      if (findings.length > 0)
        throw new Failure(
          `${findings.length} statements scan a growing table in full`,
          'See CONTRIBUTING.md for how to read and fix a finding.',
          findings.join('\n'),
        );
      // The tests that send the statement may have been skipped on this machine.
      for (const exception of unused) note(`unused exception: ${exception}`);
      note(`${explained} statements`);
      return { passed: explained, failed: 0, skipped: [] };
    }),
};

/**
 * Checks of `npm run check` in order, starting with the cheap checks. Checks in the same lane run one after another, each on one core; different lanes run
 * concurrently.
 */
export const CHECKS = {
  format: tool(
    1,
    'format',
    'prettier',
    ['--check', '--cache', '--cache-location', cacheOf('prettier'), '--log-level', 'warn', '.'],
    'To fix: npm run format',
  ),
  // Runs before lint, because this check generates the console's API client, whose types lint also uses.
  console: consoleTypes,
  lint: tool(2, 'lint', 'oxlint', [], 'Each finding names its rule. To fix many of them: npx oxlint --fix'),
  boundaries: tool(
    1,
    'import boundaries',
    'depcruise',
    ['src', '--config', '.dependency-cruiser.mjs', '--cache', cacheOf('boundaries')],
    'The rules and their reasons are in .dependency-cruiser.mjs.',
  ),
  types: tool(
    2,
    'types',
    'tsc',
    ['--noEmit', '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', cacheOf('types.json')],
    '',
  ),
  unit: tests('unit'),
  service: tests('service'),
  long: tests('long'),
  secrets,
  deprecations,
  plans,
};

/** Checks that run only if named, because each file of `long` takes minutes. */
export const ONLY_BY_NAME = ['long'];

/** Checks that take about a minute with filled caches and need neither a build nor stores. */
export const QUICK = ['format', 'lint', 'boundaries', 'types', 'unit'];

/** someTests returns a check that runs only the tests in these files or with these names, in any project. */
export const someTests = (args) => ({
  title: `tests: ${args.join(' ')}`,
  needsStores: true,
  run: async (context) => {
    if (!args.every((arg) => arg.startsWith('src/'))) await step('build', () => build());
    return runVitest('some', args, context);
  },
});
