import { checksNamed, runChecks } from './lib/check.mjs';
import { CHECKS } from './lib/check-steps.mjs';
import { Failure } from './lib/failure.mjs';
import { onInterruption, runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { ROOT, toolEnvironment } from './lib/project.mjs';
import { TestStores } from './lib/test-stores.mjs';

/**
 * `npm run check [-- name …]`: runs all checks, the named checks, or the `quick` checks, with the packages as installed. Starts stores if none are configured.
 */
const stores = new TestStores();

async function main() {
  process.chdir(ROOT);
  await continueUnderNode24();
  const checks = checksNamed(process.argv.slice(2));
  if (checks === undefined)
    throw new Failure('Unknown check', `Available checks: quick, ${Object.keys(CHECKS).join(', ')}`);
  onInterruption(() => stores.stop());
  const given = process.env.SW_TEST_DATABASE_URL !== undefined;
  const found = !given && checks.some((check) => check.needsStores) ? await stores.start() : await stores.folder();
  return runChecks(checks, { env: toolEnvironment(found) });
}

await runToEnd(main, () => stores.stop());
