import { makeClient, serveConsole } from './lib/console.mjs';
import { runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { installConsolePackages } from './lib/packages.mjs';
import { ROOT } from './lib/project.mjs';
import { step } from './lib/steps.mjs';

/** `npm run console`: serves the console on http://localhost:4200 with live reload; needs a running `npm start`. */
async function main() {
  process.chdir(ROOT);
  await continueUnderNode24();
  await step('npm packages of the console', () => installConsolePackages());
  await step('API client', () => makeClient());
  await serveConsole();
  return 0;
}

await runToEnd(main, () => {});
