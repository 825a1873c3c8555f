import { NestFactory } from '@nestjs/core';
import { ApiModule } from '../app/app.module.js';
import { CountReconciler } from '../inventory/analytics/count-reconciler.service.js';
import { Config } from '../platform/config/config.js';
import { StructuredLogger } from '../platform/log/structured-logger.js';

/**
 * Compares the running counts of the inventory with its assets, and repairs what is wrong. Workers do the same once a day and after a migration.
 * Ends with 1 when something was wrong, and with 3 when a worker does it now.
 */
export async function reconcileCounts(): Promise<void> {
  const app = await NestFactory.createApplicationContext(ApiModule, { logger: new StructuredLogger(new Config()) });
  try {
    const found = await app.get(CountReconciler).now();
    if (found === undefined) {
      process.stdout.write('A worker compares the counts now; its log says what it finds.\n');
      process.exitCode = 3;
      return;
    }
    for (const { dimension, values, off } of found.tally)
      process.stdout.write(`${dimension}: ${values} counts were wrong, by ${off} in all; repaired\n`);
    if (found.sources > 0) process.stdout.write(`${found.sources} sources were wrong; they are counted again\n`);
    const isRight = found.tally.length + found.sources === 0;
    if (isRight) process.stdout.write('All counts are right.\n');
    process.exitCode = isRight ? 0 : 1;
  } finally {
    await app.close();
  }
}
