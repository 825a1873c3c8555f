import { build } from './build.mjs';
import { Failure } from './failure.mjs';
import { bin } from './project.mjs';
import { run } from './run.mjs';
import { step } from './steps.mjs';
import { runVitest } from './vitest.mjs';

/** A tool that says something only when something is wrong. */
const tool = (title, program, args, remedy) => ({
  title,
  run: async (context) => {
    const result = await step(title, async () => {
      const { code, output } = await run(bin(program), args, { env: context.env });
      if (code !== 0) throw new Failure(`${title} failed`, remedy, output);
      return { passed: 1, failed: 0, skipped: [] };
    });
    return result;
  },
});

/** Tests of the service start processes of what was built, so it has to be built from these sources. */
const tests = (project) => ({
  title: `${project} tests`,
  needsStores: project !== 'unit',
  run: async (context) => {
    if (project !== 'unit') await step('build', () => build());
    return runVitest(project, ['--project', project], context);
  },
});

/** What `npm run check` does, in order: the cheap ones first. */
export const CHECKS = {
  format: tool('format', 'prettier', ['--check', '--log-level', 'warn', '.'], 'Put it right with: npm run format'),
  lint: tool('lint', 'oxlint', [], 'Each finding names its rule; many are put right by: npx oxlint --fix'),
  boundaries: tool(
    'import boundaries',
    'depcruise',
    ['src', '--config', '.dependency-cruiser.mjs'],
    'The rules and their reasons are in .dependency-cruiser.mjs.',
  ),
  types: tool('types', 'tsc', ['--noEmit', '-p', 'tsconfig.json'], ''),
  unit: tests('unit'),
  service: tests('service'),
  shipped: tests('shipped'),
  openapi: tool(
    'OpenAPI description',
    'redocly',
    ['lint', 'docs/openapi.json'],
    'The description is made by: npm run openapi',
  ),
};

/** Only these files or names of tests, in whichever project they are. */
export const someTests = (args) => ({
  title: `tests: ${args.join(' ')}`,
  needsStores: true,
  run: async (context) => {
    if (!args.every((arg) => arg.startsWith('src/'))) await step('build', () => build());
    return runVitest('some', args, context);
  },
});
