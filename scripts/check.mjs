import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checksNamed, runChecks } from './lib/check.mjs';
import { CHECKS } from './lib/check-steps.mjs';
import { Failure } from './lib/failure.mjs';
import { onInterruption, runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { ROOT, toolEnvironment } from './lib/project.mjs';
import { TestStores } from './lib/test-stores.mjs';

/** `npm run check [-- name …]`: all checks, those named, or the `quick` ones, on the packages as they are. Stores are started if none are given. */
const stores = new TestStores();
/** Where tests without stores leave what they do not remove. */
let temporary;

async function main() {
  process.chdir(ROOT);
  await continueUnderNode24();
  const checks = checksNamed(process.argv.slice(2));
  if (checks === undefined)
    throw new Failure('There is no such check', `The checks are: quick, ${Object.keys(CHECKS).join(', ')}`);
  onInterruption(cleanUp);
  temporary = mkdtempSync(path.join(tmpdir(), 'sealwright-check-'));
  const given = process.env.SW_TEST_DATABASE_URL !== undefined;
  const found = !given && checks.some((check) => check.needsStores) ? await stores.start() : { TMPDIR: temporary };
  return runChecks(checks, { env: toolEnvironment(found) });
}

async function cleanUp() {
  await stores.stop();
  if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
}

await runToEnd(main, cleanUp);
