import { openRowSealer, type RowSealer } from './sealed-sql.js';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startPostgres, type PrivatePostgres } from '../../scripts/lib/postgres.mjs';
import { startRedis, type PrivateRedis } from '../../scripts/lib/redis.mjs';
import { buildShim, type Shim } from '../fakes/pkcs11-shim/shim.js';
import { keepDatabase } from './issued-secrets.js';
import { connect, KeptConnections } from './kept-connections.js';
import { createMigratedDatabase } from './migrated-database.js';
import { createToken, type TestToken } from './hsm.js';
import { copySeeded } from './seeded-database.js';
import { type Service, type ServiceOptions, runToEnd, startService } from './service.js';

/** File with the keys and passwords of the demo seed. */
const DEMO = 'demo.env';

/** The environment of a test file: a separate database, token and Redis, and the services that use them. */
export interface Stage {
  readonly settings: Record<string, string>;
  readonly token: TestToken;
  /** Current Redis server. */
  readonly redis: PrivateRedis;
  /** PKCS #11 module between the service and SoftHSM; only with `shim`. */
  readonly shim: Shim | undefined;
  /** PostgreSQL server, which the test can stop and start; only with `ownPostgres`. */
  readonly postgres: PrivatePostgres | undefined;
  /** URL of the database, as its owner. */
  readonly databaseUrl: string;
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Like `sql`, but also seals the changed rows (docs/decisions/0170), for changes that the service could have made. */
  change<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Starts dist/main.js (or dist/worker.js) and waits until it is ready. */
  start(options?: ServiceOptions): Promise<Service>;
  /** Starts an empty Redis at the same address after the test stopped or killed it. */
  restartRedis(): Promise<void>;
  /** Deletes all keys in Redis. */
  flushRedis(): Promise<void>;
  /** Returns how often the HSM was asked to sign this digest (base64), according to the shim's journal; only with `shim`. */
  operationsOn(digest: string): number;
  /** Restarts the server with the same data and address after the test stopped or killed it; only with `ownPostgres`. */
  restartPostgres(): Promise<void>;
  /** Creates an administrator, an API key with admin:* and the signing keys `default` (P-256) and `demo-rsa` (RSA-3072). */
  seed(): Promise<{ apiKey: string; adminEmail: string; adminPassword: string }>;
  /** Stops all services and removes the stores. */
  close(): Promise<void>;
}

export async function openStage({ ownPostgres = false, shim: shimmed = false } = {}): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-stage-'));
  const token = createToken(directory);
  const softhsm = process.env['SW_TEST_SOFTHSM'] ?? '/usr/lib/softhsm/libsofthsm2.so';
  const shim = shimmed ? buildShim(directory, softhsm) : undefined;
  let redis = await startRedis({ dir: join(directory, 'redis') });
  let postgres = ownPostgres ? await startPostgres({ dir: join(directory, 'postgres') }) : undefined;
  const services: Service[] = [];
  let sealer: RowSealer | undefined;
  const settingsFor = (databaseUrl: string) => ({
    ...token.settings,
    SOFTHSM2_CONF: token.environment.SOFTHSM2_CONF,
    SVC_DATABASE_URL: databaseUrl,
    SVC_REDIS_URL: redis.url,
    SVC_PORT: '0',
    SVC_HOST: '127.0.0.1',
    SVC_CLOCK_SPEED: '4',
    SVC_PKCS11_LIBRARY: shim?.library ?? softhsm,
    ...shim?.environment,
  });
  const seedTemplate = async (place: string) => {
    const url = await createMigratedDatabase(adminUrl(), migrate);
    const own = createToken(place);
    const environment = { SOFTHSM2_CONF: own.environment.SOFTHSM2_CONF, SVC_PKCS11_LIBRARY: softhsm };
    await seed(place, { ...settingsFor(url), ...own.settings, ...environment });
    return { databaseUrl: url, tokens: own.tokens };
  };
  const migrate = (url: string) => runToEnd(['migrate'], settingsFor(url));
  if (postgres !== undefined) await migrate(postgres.url);
  const databaseUrl = postgres?.url ?? (await createMigratedDatabase(adminUrl(), migrate));
  const settings = settingsFor(databaseUrl);
  const connections = new KeptConnections(databaseUrl);
  return {
    settings,
    token,
    get redis() {
      return redis;
    },
    shim,
    get postgres() {
      return postgres;
    },
    databaseUrl,
    sql: (text, values) => connections.query(text, values),
    change: async <Row extends object>(text: string, values?: unknown[]) => {
      sealer ??= await openRowSealer(settings);
      return sealer.change<Row>(text, values);
    },
    start: async (options) => {
      // The profile prod does not allow a clock speed other than 1.
      const speed = options?.settings?.['SVC_PROFILE'] === 'prod' ? { SVC_CLOCK_SPEED: '1' } : {};
      const service = await startService({ ...settings, ...speed }, options);
      services.push(service);
      return service;
    },
    restartRedis: async () => {
      redis = await startAgain(join(directory, 'redis'), redis.port);
    },
    operationsOn: (digest) => {
      if (shim === undefined) throw new Error('a stage without the shim has no journal');
      const hex = Buffer.from(digest, 'base64').toString('hex');
      return shim.journal().filter((entry) => entry.kind === 'ask' && entry.hex.endsWith(hex)).length;
    },
    restartPostgres: async () => {
      postgres = await startPostgres({ dir: join(directory, 'postgres') });
    },
    flushRedis: async () => {
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
    },
    seed: async () => {
      // The template cannot be used on a private server, or if a service may already have written to these stores.
      if (services.length > 0 || postgres !== undefined) return seed(directory, settings);
      return facts(await copySeeded({ adminUrl: adminUrl(), databaseUrl, token }, seedTemplate));
    },
    close: async () => {
      await Promise.all(services.map((service) => service.kill('SIGKILL')));
      await sealer?.close();
      await connections.close();
      await keepDatabase(databaseUrl);
      await redis.stop();
      await postgres?.stop();
      if (postgres === undefined) await dropDatabase(databaseUrl);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function adminUrl(): string {
  const url = process.env['SW_TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('SW_TEST_DATABASE_URL names no PostgreSQL; run `npm test`, which brings one');
  return url;
}

async function dropDatabase(url: string): Promise<void> {
  await query(adminUrl(), `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

/** Runs one statement on a separate connection. */
export async function query<Row extends object>(url: string, text: string, values?: unknown[]): Promise<Row[]> {
  const client = await connect(url);
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Starts Redis on the port of a killed server. Retries, because the port stays in use for some milliseconds until all server threads have ended. */
async function startAgain(dir: string, port: number): Promise<PrivateRedis> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startRedis({ dir, port });
    } catch (error) {
      if (attempt === 50) throw error;
      await sleep(50);
    }
  }
}

async function seed(directory: string, settings: Record<string, string>) {
  await runToEnd(['seed-demo', '--out', join(directory, DEMO)], settings);
  return facts(directory);
}

function facts(directory: string) {
  const text = readFileSync(join(directory, DEMO), 'utf8');
  const fact = (name: string) => new RegExp(`^${name}='(.*)'$`, 'm').exec(text)?.[1] ?? '';
  return { apiKey: fact('API_KEY'), adminEmail: fact('ADMIN_EMAIL'), adminPassword: fact('ADMIN_PASSWORD') };
}
