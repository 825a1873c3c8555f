import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AdministrationModule } from '../app.module.js';
import { Config } from '../platform/config/config.js';
import { CommandLogger } from '../platform/observability/structured-logger.js';

/** inService runs `work` in an application context of the service, without HTTP. */
export async function inService(
  work: (app: INestApplicationContext) => Promise<void>,
  module: Type = AdministrationModule,
): Promise<void> {
  const app = await NestFactory.createApplicationContext(module, { logger: new CommandLogger(new Config()) });
  try {
    await work(app);
  } finally {
    await app.close();
  }
}
