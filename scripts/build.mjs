import { build } from './lib/build.mjs';
import { runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { ROOT } from './lib/project.mjs';
import { step } from './lib/steps.mjs';

/** `npm run build`: builds the service into dist/ and the console into dist/ui/. */
async function main() {
  process.chdir(ROOT);
  await continueUnderNode24();
  await step('Build', () => build());
  return 0;
}

await runToEnd(main, () => {});
