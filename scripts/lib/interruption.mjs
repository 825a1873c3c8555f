import { onOrphaned } from './processes.mjs';
import { endChildren } from './run.mjs';
import { haltSteps, say, showFailure } from './steps.mjs';

/** On Ctrl-C or a request to end: ends the running programs, runs `stop` once, exits. A second Ctrl-C exits at once. */
export function onInterruption(stop) {
  let interrupted = false;
  const interrupt = () => {
    if (interrupted) process.exit(137);
    interrupted = true;
    haltSteps();
    say('\nStopping …');
    endChildren();
    void stop().finally(() => process.exit(130));
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt);
  onOrphaned(interrupt);
}

/** Runs `main`, shows what it throws, runs `stop` in any case, and exits with the code that `main` answers. */
export async function runToEnd(main, stop) {
  let code = 1;
  try {
    code = await main();
  } catch (error) {
    showFailure(error);
  }
  await stop();
  process.exit(code);
}
