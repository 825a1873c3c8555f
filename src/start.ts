import { type INestApplicationContext, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiModule, AppModule } from './app.module.js';
import { CatalogueCheck } from './platform/sealing/catalogue-check.js';
import { Config, ConfigError } from './platform/config/config.js';
import { configureHttp, httpAdapter } from './platform/http/server/configure.js';
import { InstanceHeartbeat } from './platform/instances/heartbeat.js';
import { PRODUCT_BUILD } from './platform/observability/product-version.js';
import { StructuredLogger } from './platform/observability/structured-logger.js';
import { ApiDocument } from './platform/http/server/api-document.js';
import { startTracing } from './platform/observability/tracing.js';
import { BackgroundJobs } from './platform/work/background-jobs.js';
import { Management } from './system/management/management.js';

/** Serves HTTP and, unless the role is api, also runs background work. */
export async function startApi(config: Config): Promise<NestFastifyApplication> {
  const management = await waitForSchema(config);
  const module = config.works ? AppModule : ApiModule;
  const app = await NestFactory.create<NestFastifyApplication>(module, httpAdapter(config), {
    bodyParser: false,
    logger: new StructuredLogger(config),
  });
  configureHttp(app);
  app.get(ApiDocument).describe(app);
  stopOnSignals(app, config);
  await app.init();
  await announce(app, management);
  await app.listen(config.port, config.host);
  new Logger('Start').log(`listening on ${await app.getUrl()} as ${config.role}, version ${PRODUCT_BUILD}`);
  return app;
}

/** Runs background work, without HTTP. */
export async function startWorker(config: Config): Promise<void> {
  const management = await waitForSchema(config);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: new StructuredLogger(config) });
  stopOnSignals(app, config);
  await announce(app, management);
  new Logger('Start').log(`working in the background, version ${PRODUCT_BUILD}`);
}

async function waitForSchema(config: Config): Promise<Management> {
  Logger.overrideLogger(new StructuredLogger(config));
  for (const signal of SIGNALS) process.once(signal, endAtOnce);
  const management = new Management(config);
  await management.open();
  await management.untilSchemaFits();
  await startTracing(config.tracing, config.role);
  return management;
}

/**
 * Registers the process as an instance. If the schema becomes newer than the version of this process, the process stops as on SIGTERM. After a restart, the
 * process accepts no work until the schema matches.
 */
async function announce(app: INestApplicationContext, management: Management): Promise<void> {
  management.serve(app);
  await app.get(CatalogueCheck).atStart();
  app.get(BackgroundJobs).begin();
  await app.get(InstanceHeartbeat).begin((reason) => {
    new Logger('Start').fatal(reason);
    process.kill(process.pid, 'SIGTERM');
  });
}

/** Reads the settings and starts. All configuration errors are logged in one message, without a stack trace. With `--version`, prints only the version. */
export async function start(entry: (config: Config) => Promise<unknown>): Promise<void> {
  if (process.argv[2] === '--version') return void process.stdout.write(`${PRODUCT_BUILD}\n`);
  try {
    await entry(new Config());
  } catch (error) {
    const reason = error instanceof ConfigError ? error.message : (listenFault(error) ?? error);
    new Logger('Start').fatal(reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));
    process.exit(1);
  }
}

/** Returns an explanation if the process cannot listen on the configured port or address; undefined for any other error. */
function listenFault(error: unknown): string | undefined {
  const { code = '', syscall = '', message } = error as NodeJS.ErrnoException;
  if (syscall !== 'listen' && !(syscall === 'getaddrinfo' && code === 'ENOTFOUND')) return undefined;
  const meaning: Record<string, string> = {
    EADDRINUSE: 'another process is already listening there',
    EADDRNOTAVAIL: 'this machine does not have the address',
    EACCES: 'the account of this process cannot use the port',
    ENOTFOUND: 'the name does not resolve to an address',
  };
  const settings = 'SVC_HOST and SVC_PORT, or SVC_MANAGEMENT_HOST and SVC_MANAGEMENT_PORT';
  return `${message}: ${meaning[code] ?? 'unable to listen on it'}; correct ${settings}`;
}

/**
 * SIGHUP, on which other programs reload their settings, also stops the process. Without a handler, SIGHUP would kill the process in the middle of its
 * work.
 */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** For the first process of a container, the kernel ignores every signal without a handler, even a signal that the process sends to itself. */
const IS_FIRST = process.pid === 1;

/** Exits immediately: the process is still waiting for its stores, so no work is in progress. */
function endAtOnce(signal: NodeJS.Signals): void {
  new Logger('Stop').log(`received ${signal} before the service was up`);
  if (IS_FIRST) process.exit(0);
  process.kill(process.pid, signal);
}

/**
 * On a signal, finishes work in progress and then ends by that signal, or with exit code 0 as the first process of a container. The process exits
 * within SVC_STOP_SECONDS even if a database or library does not respond. Unfinished work then remains in rows with a lease, as after a crash.
 */
function stopOnSignals(app: INestApplicationContext, { stopSeconds }: Config): void {
  const giveUp = () => {
    new Logger('Stop').fatal(
      `not stopped ${stopSeconds} s after the signal: unfinished work is retried once its leases expire`,
    );
    process.exit(1);
  };
  for (const signal of SIGNALS) {
    process.off(signal, endAtOnce);
    process.once(signal, () => {
      new Logger('Stop').log(`received ${signal}: finishing work in progress first`);
      setTimeout(giveUp, stopSeconds * 1000);
    });
  }
  app.enableShutdownHooks([...SIGNALS], { useProcessExit: IS_FIRST });
}
