import { spawn } from 'node:child_process';
import { Failure } from './lib/failure.mjs';
import { build } from './lib/build.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { onOrphaned } from './lib/processes.mjs';
import { inRoot, readEnvFile, ROOT } from './lib/project.mjs';
import { showFailure } from './lib/steps.mjs';

/**
 * `npm run cli -- …`, `npm run worker`: runs a program of dist next to `npm start`, with the same stores. Settings in the environment take precedence over the
 * settings of the last `npm start` (.data/service.env).
 */
async function main() {
  const [program, ...args] = process.argv.slice(2);
  if (program === undefined)
    throw new Failure('No program was specified', 'For example: node scripts/with-settings.mjs dist/cli.js migrate');
  await continueUnderNode24();
  await build({ withConsole: false });
  const env = { ...readEnvFile(inRoot('.data/service.env')), ...readEnvFile(inRoot('.env')), ...process.env };
  const child = spawn(process.execPath, ['--enable-source-maps', inRoot(program), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env,
  });
  // Ctrl-C reaches the program directly. This process waits for the program to end.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  onOrphaned(() => child.kill('SIGTERM'));
  child.on('exit', (code) => process.exit(code ?? 1));
}

main().catch((error) => {
  showFailure(error);
  process.exit(1);
});
