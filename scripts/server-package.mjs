import { parseArgs } from 'node:util';
import { runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { ROOT } from './lib/project.mjs';
import { packServer } from './lib/server-package.mjs';
import { step } from './lib/steps.mjs';

/** `npm run server-package [-- --version VERSION]`: packs the service as a .deb in dist/packages. */
async function main() {
  process.chdir(ROOT);
  await continueUnderNode24();
  const { values } = parseArgs({ options: { version: { type: 'string' } } });
  const file = await step('Debian package of the service', () => packServer(values.version));
  process.stdout.write(`${file}\n`);
  return 0;
}

await runToEnd(main, () => {});
