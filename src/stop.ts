import { type INestApplicationContext, Logger } from '@nestjs/common';
import type { Config } from './platform/config/config.js';

const SIGNALS = ['SIGTERM', 'SIGINT'];

/**
 * A process that is told to stop finishes what it has in hand, and then ends by the signal. Whatever it waits for, a database or a
 * library, it ends within SVC_STOP_SECONDS: what is left then stands in rows with a lease, like the work of a process that died.
 */
export function stopOnSignals(app: INestApplicationContext, { stopSeconds }: Config): void {
  const giveUp = () => {
    new Logger('Stop').fatal(`not ended ${stopSeconds} s after the signal: what is in hand is left to its lease`);
    process.exit(1);
  };
  app.enableShutdownHooks(SIGNALS);
  for (const signal of SIGNALS) process.once(signal, () => setTimeout(giveUp, stopSeconds * 1000));
}
