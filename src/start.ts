import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiModule, AppModule } from './app/app.module.js';
import { Config, ConfigError } from './platform/config/config.js';
import { configureHttp, httpAdapter } from './platform/http/server/configure.js';
import { StructuredLogger } from './platform/log/structured-logger.js';
import { ApiDocument } from './platform/http/server/api-document.js';
import { stopOnSignals } from './stop.js';

/** Answers HTTP and, unless the role is api, works in the background too. */
export async function startApi(config: Config): Promise<NestFastifyApplication> {
  const module = config.works ? AppModule : ApiModule;
  const app = await NestFactory.create<NestFastifyApplication>(module, httpAdapter(config), {
    bodyParser: false,
    logger: new StructuredLogger(config),
  });
  configureHttp(app);
  app.get(ApiDocument).describe(app);
  stopOnSignals(app, config);
  await app.listen(config.port, config.host);
  new Logger('Start').log(`listening on ${await app.getUrl()} as ${config.role}`);
  return app;
}

/** Works in the background, without HTTP. */
export async function startWorker(config: Config): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: new StructuredLogger(config) });
  stopOnSignals(app, config);
  new Logger('Start').log('working in the background');
}

/** Reads the settings and starts; what is wrong with the settings is said in full, once. */
export async function start(entry: (config: Config) => Promise<unknown>): Promise<void> {
  try {
    await entry(new Config());
  } catch (error) {
    const reason = error instanceof ConfigError ? error.message : error;
    new Logger('Start').fatal(reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));
    process.exit(1);
  }
}
