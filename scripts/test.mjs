import { runChecks, checksNamed } from './lib/check.mjs';
import { someTests } from './lib/check-steps.mjs';
import { onInterruption, runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24, refuseOldNode } from './lib/node24.mjs';
import { installPackages, needsForPackages } from './lib/packages.mjs';
import { ROOT, toolEnvironment } from './lib/project.mjs';
import { step } from './lib/steps.mjs';
import { demand, howToInstall, install, NEEDS } from './lib/system-packages.mjs';
import { TestStores } from './lib/test-stores.mjs';

/** `npm test [-- files or options of vitest]`: from a fresh clone to every check, on stores of its own. */
const PEERS = {
  redis: 'everything that needs Redis',
  softhsm: 'everything that needs an HSM: generating keys, signing, verifying',
  openssl: 'that openssl verifies our signatures',
  cc: 'behaviour under a failing HSM (the PKCS#11 shim has to be compiled)',
};
const stores = new TestStores();

async function main() {
  process.chdir(ROOT);
  refuseOldNode();
  const unchecked = await bringPeers();
  if (process.env.SEALWRIGHT_CONTINUED === undefined) await step('npm packages', () => installPackages());
  process.env.SEALWRIGHT_CONTINUED = 'yes';
  await continueUnderNode24();
  onInterruption(() => stores.stop());
  const env = toolEnvironment(await stores.start());
  const args = process.argv.slice(2);
  return runChecks(args.length > 0 ? [someTests(args)] : checksNamed([]), { env, unchecked });
}

/** Answers the promises that cannot be checked, since what they need may not be installed here. */
async function bringPeers() {
  const compilers = needsForPackages();
  const peers = Object.keys(PEERS);
  let left = [];
  await step('System packages', async (note) => {
    left = await install([...compilers, ...peers.map((name) => NEEDS[name])], note);
    await demand(compilers, note);
    if (left.length > 0) note(howToInstall(left));
  });
  return peers
    .filter((name) => left.includes(NEEDS[name]))
    .map((name) => `${PEERS[name]} (${NEEDS[name].name} is missing)`);
}

await runToEnd(main, () => stores.stop());
