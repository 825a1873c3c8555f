import { Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import { runToEnd, type Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, query, type Stage } from '../support/stage.js';

const SKEW = join(import.meta.dirname, '../fakes/skewed-clock.mjs');

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ ownPostgres: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start();
});
afterAll(() => stage.close());

interface Asked {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses can have any shape
  readonly body: any;
}

async function ask(url: string): Promise<Asked | undefined> {
  const response = await fetch(url).catch(() => undefined);
  if (response === undefined) return undefined;
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

/** Returns the names of the service's own metrics in a scrape, excluding the metrics of Node.js. */
function namesIn(scrape: string): string[] {
  const names = [...scrape.matchAll(/^# HELP sealwright_(\w+) /gm)].map(([, name = '']) => name);
  return names.filter((name) => !/^(?:process|nodejs)_/.test(name)).toSorted();
}

/** Returns the metric names in the first column of the table in docs/operations.md. */
function documentedMetrics(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
  const [, table = ''] = /\n## Metrics\n([^]*?)\nQueues: /.exec(text) ?? [];
  const cells = table.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1] ?? ''] : []));
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)).toSorted();
}

const health = async () => (await service.call('GET', '/actuator/health', { key: apiKey })).body;
const component = async (name: string) => (await health()).components[name];

/** Makes the database read-only for all new connections of the service, as on a standby or on a managed database whose disk is full. */
async function readOnly(isOn: boolean): Promise<void> {
  const name = new URL(stage.databaseUrl).pathname.slice(1);
  const set = isOn ? 'SET default_transaction_read_only = on' : 'RESET default_transaction_read_only';
  await stage.sql(`SET transaction_read_only = off; ALTER DATABASE "${name}" ${set}`);
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
    [name],
  );
}

it('every process is listed with its role, version and clock', async () => {
  const worker = await stage.start({ role: 'worker' });
  const list = async () => (await service.call('GET', '/api/settings/instances', { key: apiKey })).body.items;
  const items = await until('both are seen', 10, async () => {
    const found = await list();
    return found.length === 2 && found;
  });
  expect(new Set(items.map(({ role, pid }: { role: string; pid: number }) => `${role} ${pid}`))).toEqual(
    new Set([`all ${service.pid}`, `worker ${worker.pid}`]),
  );
  for (const { version, clockOffsetMs } of items) {
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(Math.abs(clockOffsetMs)).toBeLessThan(1000);
  }
  await worker.kill();
  expect(await list()).toHaveLength(1);
});

it('a worker serves health and metrics on its management port, without a credential', async () => {
  const port = await freePort();
  const worker = await stage.start({ role: 'worker', settings: { SVC_MANAGEMENT_PORT: String(port) } });
  const at = `http://127.0.0.1:${port}`;
  onTestFinished(async () => void (await worker.kill('SIGKILL')));
  for (const path of ['health', 'health/liveness', 'health/readiness', 'health/signing'])
    expect(await ask(`${at}/actuator/${path}`)).toMatchObject({ status: 200, body: { status: 'UP' } });
  const metrics = await ask(`${at}/metrics`);
  expect(metrics?.body).toContain('sealwright_db_write_up 1');
  expect(metrics?.body).toMatch(/sealwright_queue_depth\{queue="signing"\} \d/);
  expect(metrics?.body).toMatch(/sealwright_instances\{role="worker"\} [1-9]/);
  expect(namesIn(metrics?.body)).toEqual(documentedMetrics());
  expect((await ask(`${at}/api/auth/me`))?.status).toBe(404);
  await worker.kill('SIGKILL');
  const { detail } = await until('it is missed', 30, async () => {
    const { details } = await component('workers');
    return details.detail.includes('no heartbeat from') && details;
  });
  expect(detail).toContain(`:${worker.pid} (`);
});

it('an api without a worker is DEGRADED, because there is no background processing', async () => {
  const other = await stage.start({ role: 'api' });
  await service.kill();
  const { status, body } = await until('it says so', 30, async () => {
    const answer = await other.call('GET', '/actuator/health', { key: apiKey });
    return answer.body.status === 'DEGRADED' && answer;
  });
  expect(status).toBe(200);
  expect(body.components.workers).toMatchObject({
    status: 'DOWN',
    details: { detail: expect.stringContaining('is waiting') },
  });
  service = await stage.start();
  await other.kill();
});

it('a read-only database is DOWN with the database error, and callers are told that nothing was changed', async () => {
  await readOnly(true);
  const db = await until('it is DOWN', 15, async () => {
    const found = await component('db').catch(() => undefined);
    return found?.status === 'DOWN' && found;
  });
  expect(db.status).toBe('DOWN');
  expect((await service.call('GET', '/actuator/health/readiness')).status).toBe(503);
  expect((await service.call('GET', '/actuator/health/signing')).status).toBe(503);
  const signed = () => sign(service, { key: apiKey, body: { digest: digestOf('read-only') } });
  // A call whose connection was dropped is first answered with `database.unavailable`.
  const refused = await until('callers hear why', 15, async () => {
    const answer = await signed();
    return answer.body.code !== 'database.unavailable' && answer;
  });
  expect([refused.status, refused.body.code]).toEqual([503, 'database.read-only']);
  await until('the log says so', 15, () =>
    Promise.resolve(service.log().includes('unable to write to the database: read-only')),
  );
  await readOnly(false);
  await until('it is UP', 15, async () => (await health()).status === 'UP');
  await until('it signs', 15, async () => (await signed()).status === 200);
});

it('a full Redis is DOWN with the reason, and all work still completes', async () => {
  const redis = new Redis(stage.redis.url);
  await redis.config('SET', 'maxmemory', '1');
  const found = await until('it is DOWN', 15, async () => {
    const part = await component('redis');
    return part.status === 'DOWN' && part;
  });
  expect(found.details.detail).toContain('Redis is full');
  const { headers } = await sign(service, { key: apiKey, body: { digest: digestOf('full'), async: true } });
  const began = performance.now();
  const { body } = await service.call('GET', `${headers.get('location')}?wait=20`, { key: apiKey });
  expect(body.status).toBe('SIGNED');
  // The request is found by polling every 250 ms, which replaces notifications, and not by the slower sweep for lost requests.
  expect(performance.now() - began).toBeLessThan(3000);
  await redis.config('SET', 'maxmemory', '0');
  redis.disconnect();
  await until('it is UP', 15, async () => (await component('redis')).status === 'UP');
});

it('a process with a wrong clock reports itself, and others name it instead of each other', async () => {
  const settings = { NODE_OPTIONS: `--import ${SKEW}`, SKEW_MS: '-600000' };
  const other = await stage.start({ role: 'api', settings });
  const named = await until('it is named', 15, async () => {
    const clock = await component('clock');
    return clock.status === 'DOWN' && clock;
  });
  expect(named.details.detail).toMatch(new RegExp(`api .*:${other.pid} is 600\\.\\d s behind`));
  expect((await component('log')).status).toBe('UP');
  const readiness = await other.call('GET', '/actuator/health/readiness');
  expect([readiness.status, readiness.body.components.clock?.status]).toEqual([503, 'DOWN']);
  expect((await service.call('GET', '/actuator/health/readiness')).status).toBe(200);
  await other.kill();
});

describe('a schema for another version', () => {
  it('that was never migrated is waited for and reported on both ports, and then used', async () => {
    await query(stage.postgres?.adminUrl ?? '', 'CREATE DATABASE unmigrated OWNER sealwright');
    const url = new URL(stage.databaseUrl);
    url.pathname = '/unmigrated';
    const [port, management] = [await freePort(), await freePort()];
    const settings = {
      SVC_DATABASE_URL: url.href,
      SVC_PORT: String(port),
      SVC_MANAGEMENT_PORT: String(management),
      SVC_ADMIN_EMAIL: 'admin@example.com',
      SVC_ADMIN_PASSWORD: 'a-password-that-is-long-enough',
    };
    const starting = stage.start({ settings });
    const waiting = await until('it waits', 30, () => ask(`http://127.0.0.1:${port}/actuator/health/readiness`));
    expect(waiting).toMatchObject({ status: 503, body: { status: 'DOWN' } });
    expect(waiting.body.components.db.details.detail).toMatch(/no schema yet.*migrate/);
    expect((await ask(`http://127.0.0.1:${management}/actuator/health/liveness`))?.status).toBe(200);
    expect((await ask(`http://127.0.0.1:${port}/`))?.body.code).toBe('service.waiting');
    await runToEnd(['migrate'], { ...stage.settings, ...settings });
    const started = await starting;
    expect((await started.call('GET', '/actuator/health/readiness')).status).toBe(200);
    await started.kill();
  });

  it('that is too new is not used: the process exits, and a new one reports the remedy', async () => {
    await stage.sql('UPDATE schema_epoch SET min_writer = min_writer + 1');
    await until('it has ended', 30, async () => !(await ask(`${service.url}/actuator/health/liveness`)));
    expect(service.log()).toMatch(/too old for the database schema.*Deploy the version/);
    const port = await freePort();
    const starting = stage.start({ settings: { SVC_PORT: String(port) } });
    const waiting = await until('it waits', 30, () => ask(`http://127.0.0.1:${port}/actuator/health`));
    expect(waiting.body.components.db.details.detail).toMatch(/Deploy the version/);
    await stage.sql('UPDATE schema_epoch SET min_writer = min_writer - 1');
    service = await starting;
    expect((await health()).status).toBe('UP');
  });
});
