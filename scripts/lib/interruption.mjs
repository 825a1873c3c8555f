import { onOrphaned } from './processes.mjs';
import { endChildren } from './run.mjs';
import { haltSteps, say, showFailure } from './steps.mjs';

/** onInterruption handles Ctrl-C and termination signals: it ends running programs, runs `stop` once and exits. A second Ctrl-C exits immediately. */
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

/** runToEnd runs `main`, shows any error, always runs `stop`, and exits with the code returned by `main`. */
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
