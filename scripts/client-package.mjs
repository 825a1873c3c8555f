import { packClient } from './lib/client-package.mjs';
import { runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { ROOT } from './lib/project.mjs';
import { step } from './lib/steps.mjs';

/** `npm run client-package`: packages the client alone into dist/packages/, as an npm package and a .deb. */
async function main() {
  process.chdir(ROOT);
  await continueUnderNode24();
  const { npm, deb } = await step('Client packages', () => packClient());
  process.stdout.write(`${npm}\n${deb}\n`);
  return 0;
}

await runToEnd(main, () => {});
