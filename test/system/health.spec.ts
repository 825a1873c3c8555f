import { once } from 'node:events';
import { chmodSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FaultyDatabase } from '../fakes/faulty-database.js';
import type { Answer, Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ ownPostgres: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start();
});
afterAll(() => stage.close());

const health = (key?: string): Promise<Answer> => service.call('GET', '/actuator/health', { key });

/** Accepts one connection on an otherwise unused port and closes it. */
async function someoneCalls(port: number): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  server.listen(port, '127.0.0.1');
  await once(server, 'connection');
  server.close();
  await once(server, 'close');
}

/** Waits for an overall status. Asserts that liveness does not change. */
async function becomes(status: string): Promise<Answer> {
  const answer = await until(`health ${status}`, 30, async () => {
    const found = await health();
    return found.body.status === status && found;
  });
  const liveness = await service.call('GET', '/actuator/health/liveness');
  expect([liveness.status, liveness.body]).toEqual([200, { status: 'UP' }]);
  const readiness = await service.call('GET', '/actuator/health/readiness');
  // An HSM failure does not affect readiness, because most calls do not need the HSM.
  expect(readiness.status).toBe(answer.body.components.db.status === 'UP' ? 200 : 503);
  return answer;
}

it('healthy: 200, with details for signed-in callers only', async () => {
  const { status, body, headers } = await becomes('UP');
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('no-store');
  const [up, unknown] = [{ status: 'UP' }, { status: 'UNKNOWN' }];
  expect(body.components).toEqual({
    db: up,
    redis: up,
    hsm: up,
    clock: up,
    workers: up,
    background: up,
    schema: up,
    rows: up,
    catalogue: up,
    administrators: up,
    tsa: unknown,
    mail: unknown,
    log: up,
    secrets: up,
    replication: unknown,
  });
  const { hsm } = (await health(apiKey)).body.components;
  expect(hsm.details).toMatchObject({ detail: expect.stringContaining('sealwright-test'), pid: expect.any(Number) });
  expect((await health('sw_wrong')).body.components).toEqual(body.components);
});

it('Redis unavailable: DEGRADED, but 200, because all work still completes', async () => {
  await stage.redis.stop();
  const { status, body } = await becomes('DEGRADED');
  expect(status).toBe(200);
  expect(body.components).toMatchObject({ db: { status: 'UP' }, redis: { status: 'DOWN' }, hsm: { status: 'UP' } });
  expect((await sign(service, { key: apiKey, body: { digest: digestOf('redis') } })).status).toBe(200);
  await stage.restartRedis();
  await becomes('UP');
});

it('Redis has another password: the detail contains the Redis error', async () => {
  const [client, known] = [new Redis(stage.redis.url), new URL(stage.redis.url).password];
  await client.config('SET', 'requirepass', 'changed');
  await client.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  const { detail } = await until('it is refused', 30, async () => {
    const { details } = (await health(apiKey)).body.components.redis;
    return details.detail.includes('WRONGPASS') && details;
  });
  expect(detail).toContain('rejected the user or the password of SVC_REDIS_URL');
  await client.config('SET', 'requirepass', known);
  client.disconnect();
  await becomes('UP');
});

it('database disk cannot create files: DOWN, although existing rows can be written', async () => {
  const snapshots = join(stage.postgres?.directory ?? '', 'data/pg_snapshots');
  chmodSync(snapshots, 0o500);
  const { status } = await becomes('DOWN');
  expect(status).toBe(503);
  const seen = await stage.sql(`UPDATE service_instance SET seen_at = now() RETURNING id`);
  expect(seen).toHaveLength(1);
  chmodSync(snapshots, 0o700);
  await becomes('UP');
});

it('token unavailable: DOWN and 503; nothing fails permanently, and it recovers automatically', async () => {
  const away = `${stage.token.tokens}.away`;
  renameSync(stage.token.tokens, away);
  const { status, body } = await becomes('DOWN');
  expect(status).toBe(503);
  expect(body.components).toMatchObject({ db: { status: 'UP' }, hsm: { status: 'DOWN' } });
  const sync = await sign(service, { key: apiKey, body: { digest: digestOf('token') } });
  expect([sync.status, sync.body.code]).toEqual([503, 'hsm.unavailable']);
  const background = await sign(service, { key: apiKey, body: { digest: digestOf('token'), async: true } });
  expect(background.status).toBe(202);
  renameSync(away, stage.token.tokens);
  await becomes('UP');
  for (const path of [sync.body.instance, background.headers.get('location')]) {
    const { body: ended } = await service.call('GET', `${path}?wait=20`, { key: apiKey });
    expect(ended.status).toBe('SIGNED');
  }
});

it('database unavailable: DOWN and 503, calls return 503, and it recovers automatically', async () => {
  await stage.postgres?.kill('immediate');
  const { status, body } = await becomes('DOWN');
  expect(status).toBe(503);
  expect(body.components).toMatchObject({ db: { status: 'DOWN' }, hsm: { status: 'UP' } });
  const answer = await sign(service, { key: apiKey, body: { digest: digestOf('database') } });
  expect([answer.status, answer.body.code]).toEqual([503, 'database.unavailable']);
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  await stage.restartPostgres();
  await becomes('UP');
  expect((await sign(service, { key: apiKey, body: { digest: digestOf('database') } })).status).toBe(200);
});

it('database closes connections on open: calls return 503, the process keeps running', async () => {
  const ending = new FaultyDatabase(stage.databaseUrl);
  await ending.start();
  const other = await stage.start({ settings: { SVC_DATABASE_URL: ending.url } });
  ending.end();
  await until('some have ended', 30, async () => {
    const answer = await sign(other, { key: apiKey, body: { digest: digestOf('ending') } });
    expect([200, 503]).toContain(answer.status);
    return ending.ended > 5 && answer.status === 503;
  });
  ending.endsNone();
  await until('it works again', 30, async () => (await other.call('GET', '/actuator/health')).status === 200);
  expect(await other.kill()).toBe('SIGTERM');
  await ending.stop();
});

it('database stops responding during shutdown: the process ends within its stop timeout', async () => {
  const silent = new FaultyDatabase(stage.databaseUrl);
  await silent.start();
  const other = await stage.start({ settings: { SVC_DATABASE_URL: silent.url, SVC_STOP_SECONDS: '3' } });
  silent.fallSilent();
  const unanswered = sign(other, { key: apiKey, body: { digest: digestOf('silent') } }).catch(() => undefined);
  await until('it asks', 30, async () => silent.swallowed > 0);
  const began = performance.now();
  expect([1, 'SIGTERM']).toContain(await other.kill());
  expect(performance.now() - began).toBeLessThan(10_000);
  await unanswered;
  await silent.stop();
});

it('a failing background job is reported with its error, and other jobs continue', async () => {
  const background = async () => (await health(apiKey)).body.components.background;
  const auditLog = async () =>
    (await background()).details.jobs.find(({ name }: { name: string }) => name === 'audit-log').lastSuccessAt;
  await stage.sql('ALTER TABLE ssh_rotation_policy RENAME TO hidden');
  const found = await until('it is named', 30, async () => {
    const component = await background();
    return component.status === 'DOWN' && component.details.detail.includes('ssh-rotation-policies of') && component;
  });
  expect(found.details.jobs).toContainEqual(
    expect.objectContaining({
      name: 'ssh-rotation-policies',
      lastError: expect.stringContaining('ssh_rotation_policy'),
      consecutiveFailures: expect.any(Number),
    }),
  );
  const before = await auditLog();
  await until('another job succeeds', 30, async () => (await auditLog()) > before);
  await stage.sql('ALTER TABLE hidden RENAME TO ssh_rotation_policy');
  await until('it has recovered', 30, async () => (await background()).status === 'UP');
});

it('a service started before Redis works immediately', async () => {
  await stage.redis.stop();
  const early = await stage.start();
  expect((await early.call('GET', '/actuator/health')).body.status).toBe('DEGRADED');
  expect((await sign(early, { key: apiKey, body: { digest: digestOf('early') } })).status).toBe(200);
  await stage.restartRedis();
  await until('it finds Redis', 30, async () => (await early.call('GET', '/actuator/health')).body.status === 'UP');
  await early.kill();
});

it('a service started before its database waits for it', async () => {
  await service.kill();
  await stage.postgres?.kill('fast');
  const starting = stage.start();
  await someoneCalls(Number(new URL(stage.databaseUrl).port));
  await stage.restartPostgres();
  const late = await starting;
  expect((await sign(late, { key: apiKey, body: { digest: digestOf('late') } })).status).toBe(200);
  expect(late.log()).toContain('Unable to connect to the database');
});
