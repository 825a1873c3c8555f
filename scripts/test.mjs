import { runChecks, checksNamed } from './lib/check.mjs';
import { someTests } from './lib/check-steps.mjs';
import { onInterruption, runToEnd } from './lib/interruption.mjs';
import { equip, uncheckedPromises } from './lib/peers.mjs';
import { ROOT, toolEnvironment } from './lib/project.mjs';
import { TestStores } from './lib/test-stores.mjs';

/** `npm test [-- files or options of vitest]`: runs every check with temporary stores, starting from a fresh clone. */
const stores = new TestStores();

async function main() {
  process.chdir(ROOT);
  await equip();
  onInterruption(() => stores.stop());
  const env = toolEnvironment(await stores.start());
  const args = process.argv.slice(2);
  return runChecks(args.length > 0 ? [someTests(args)] : checksNamed([]), { env, unchecked: uncheckedPromises() });
}

await runToEnd(main, () => stores.stop());
