import { NestFactory } from '@nestjs/core';
import { parseArgs } from 'node:util';
import { ApiModule } from '../app/app.module.js';
import { CountReconciler } from '../inventory/analytics/count-reconciler.service.js';
import { Config } from '../platform/config/config.js';
import { StructuredLogger } from '../platform/log/structured-logger.js';
import { type AdminCommand, EXIT, print } from './command.js';

/** Compares the running counts of the inventory with its assets, and repairs what is wrong. */
export const reconcileCounts: AdminCommand = {
  name: 'reconcile-counts',
  usage: [''],
  summary: 'Compares the counts of the inventory with its assets, and repairs them',
  details: ['Workers do the same once a day and after a migration. Report what it repairs: it should find nothing.'],
  codes: ['Ends with 1 when something was wrong and was repaired, with 3 when a worker does it now.'],
  run: reconcile,
};

async function reconcile(args: string[]): Promise<void> {
  parseArgs({ args });
  const app = await NestFactory.createApplicationContext(ApiModule, { logger: new StructuredLogger(new Config()) });
  try {
    const found = await app.get(CountReconciler).now();
    if (found === undefined) {
      print('A worker compares the counts now; its log says what it finds.');
      process.exitCode = EXIT.elsewhere;
      return;
    }
    for (const { dimension, values, off } of found.tally)
      print(`${dimension}: ${values} counts were wrong, by ${off} in all; repaired`);
    if (found.sources > 0) print(`${found.sources} sources were wrong; they are counted again`);
    const isRight = found.tally.length + found.sources === 0;
    if (isRight) print('All counts are right.');
    process.exitCode = isRight ? EXIT.done : EXIT.failed;
  } finally {
    await app.close();
  }
}
