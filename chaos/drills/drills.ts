import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { slowCallers } from './slow-callers.js';
import type { Site } from './site.js';

const SKEW = join(import.meta.dirname, '../../test/fakes/skewed-clock.mjs');
const SKEW_MS = -600_000;
const HOLD_MS = 5000;
/** A value of `maxmemory` in bytes that is so low that Redis rejects the first write. */
const FULL_BYTES = '1';

/** An alert that must fire within a minute, and the first action on its runbook page. */
export interface ExpectedAlert {
  readonly name: string;
  readonly action: RegExp;
}

/** A failure in production and how the service must report it. */
export interface Drill {
  readonly what: string;
  /**
   * Health component that reports the failure, and the reason that it reports. Undefined if every component is UP or no process is left to report the failure.
   */
  readonly says: { readonly role: 'api' | 'worker'; readonly component: string; readonly words: RegExp } | undefined;
  readonly alert: ExpectedAlert | undefined;
  /** Whether the api stays ready. */
  readonly isReady: boolean;
  /** Whether signing requests succeed during the failure. */
  readonly signs: boolean;
  readonly begin: (site: Site) => Promise<void>;
  readonly end: (site: Site) => Promise<void>;
}

const database = (words: RegExp): Drill['says'] => ({ role: 'api', component: 'db', words });
const NO_WRITES = 'SealwrightDatabaseTakesNoWrites';

/** Drills, keyed by the letters that the service's first drill used (decision 155). Drills g and h are part of `npm run proof -- upgrade`. */
export const DRILLS: Readonly<Record<string, Drill>> = {
  a: {
    what: 'kill -9 of PostgreSQL',
    says: database(/./),
    alert: { name: NO_WRITES, action: /start or fail over PostgreSQL/ },
    isReady: false,
    signs: false,
    begin: async ({ stage }) => stage.postgres?.kill('kill'),
    end: ({ stage }) => stage.restartPostgres(),
  },
  b: {
    what: 'the disk of PostgreSQL is full',
    says: database(/disk|space|connect|ECONN|recovery/i),
    alert: { name: NO_WRITES, action: /make room/ },
    isReady: false,
    signs: false,
    begin: (site) => site.fillDisk(),
    end: async (site) => {
      site.freeDisk();
      await site.stage.postgres?.stop();
      await site.stage.restartPostgres();
    },
  },
  'b-read-only': {
    what: 'PostgreSQL takes no writes',
    says: database(/read-only/),
    alert: { name: NO_WRITES, action: /promote it, or correct the address/ },
    isReady: false,
    signs: false,
    begin: (site) => readOnly(site, true),
    end: (site) => readOnly(site, false),
  },
  c: {
    what: 'Redis is full',
    says: { role: 'api', component: 'redis', words: /full/ },
    alert: { name: 'SealwrightRedisTakesNoWrites', action: /Restart it, empty if need be/ },
    isReady: true,
    signs: true,
    begin: (site) => limitRedis(site, FULL_BYTES),
    end: (site) => limitRedis(site, '0'),
  },
  d: {
    what: 'the clock of the api is ten minutes behind',
    says: { role: 'worker', component: 'clock', words: /api .* 600\.\d s behind/ },
    alert: { name: 'SealwrightClockWrong', action: /chronyc tracking/ },
    isReady: false,
    signs: true,
    begin: async (site) => {
      await site.api.kill();
      await site.start('api', { NODE_OPTIONS: `--import=${SKEW}`, SKEW_MS: String(SKEW_MS) });
    },
    end: async (site) => {
      await site.api.kill();
      await site.start('api');
    },
  },
  e: {
    what: 'a hundred callers that send a byte a second',
    says: undefined,
    alert: undefined,
    isReady: true,
    signs: true,
    begin: async ({ api }) => slowCallers.open(api.url),
    end: async () => slowCallers.close(),
  },
  f: {
    what: 'the token is taken away',
    says: { role: 'api', component: 'hsm', words: /token|CKR_/ },
    alert: { name: 'SealwrightHsmDown', action: /the HSM is away/ },
    isReady: true,
    signs: false,
    begin: async ({ stage }) => renameSync(stage.token.tokens, `${stage.token.tokens}-away`),
    end: async ({ stage }) => renameSync(`${stage.token.tokens}-away`, stage.token.tokens),
  },
  i: {
    what: 'the database of a while ago is restored',
    says: database(/log\.rolled-back/),
    alert: { name: NO_WRITES, action: /the database is a backup, or another one/ },
    isReady: false,
    signs: false,
    begin: (site) => site.restoreOlder(),
    end: (site) => site.acceptRestored(),
  },
  j: {
    what: 'the last worker is told to stop',
    says: { role: 'api', component: 'workers', words: /no process does background work/ },
    alert: { name: 'SealwrightNoWorker', action: /Start a worker/ },
    isReady: true,
    signs: true,
    begin: async ({ worker }) => {
      await worker.kill('SIGTERM');
    },
    end: (site) => site.start('worker'),
  },
  'j-killed': {
    what: 'kill -9 of the only api',
    says: undefined,
    alert: { name: 'SealwrightDown', action: /restart it/ },
    isReady: false,
    signs: false,
    begin: async ({ api }) => {
      await api.kill('SIGKILL');
    },
    end: (site) => site.start('api'),
  },
};

async function readOnly({ stage }: Site, isOn: boolean): Promise<void> {
  const name = new URL(stage.databaseUrl).pathname.slice(1);
  await stage.sql(
    `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${isOn ? 'on' : 'off'}; COMMIT`,
  );
  // Terminates existing sessions, which would keep the old setting.
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

async function limitRedis({ stage }: Site, bytes: string): Promise<void> {
  const redis = new Redis(stage.redis.url);
  await redis.config('SET', 'maxmemory', bytes);
  redis.disconnect();
  await sleep(HOLD_MS);
}
