import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killKeyProcess } from '../support/processes.js';
import type { Service } from '../support/service.js';
import { digestOf, type PublishedKey, publishedKey, sign, until, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const JOBS = 300;
const AT_ONCE = 20;
const KEYS = ['default', 'demo-rsa'] as const;

let stage: Stage;
let apiKey: string;
let keys: Map<string, PublishedKey>;
/** Two API processes and two workers, which share a database, a Redis and a token. */
let apis: Service[];
let workers: Service[];

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  apis = await Promise.all([stage.start({ role: 'api' }), stage.start({ role: 'api' })]);
  workers = await Promise.all([stage.start({ role: 'worker' }), stage.start({ role: 'worker' })]);
  const found = await Promise.all(KEYS.map((name) => publishedKey(apis[0] as Service, apiKey, name)));
  keys = new Map(found.map((key) => [key.name, key]));
});
afterAll(() => stage.close());

interface Accepted {
  readonly message: string;
  readonly key: string;
  readonly requestId: string;
}

/** Submits a request as a client does: retries with the same Idempotency-Key at alternating addresses until the request is accepted. */
async function submit(): Promise<Accepted> {
  const message = randomUUID();
  const key = KEYS[message.charCodeAt(0) % 2] as string;
  const order = {
    key: apiKey,
    body: { digest: digestOf(message), key, async: true },
    headers: { 'idempotency-key': message },
  };
  return until(`accepting ${message}`, 30, async () => {
    const service = apis[Math.floor(Math.random() * 2)] as Service;
    const answer = await sign(service, order).catch(() => undefined);
    if (answer === undefined || answer.status >= 500) return undefined;
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return { message, key, requestId: answer.body.requestId as string };
  });
}

async function submitMany(count: number): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  let left = count;
  const client = async () => {
    while (left-- > 0) accepted.push(await submit());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return accepted;
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly signature: Buffer | null;
  readonly failure: string | null;
}

/** Waits until all requests are final. Asserts that each request has its own row and that each SIGNED request was signed once and verifies. */
async function assertAllEnded(accepted: Accepted[], seconds: number): Promise<Row[]> {
  const ids = accepted.map(({ requestId }) => requestId);
  expect(new Set(ids).size).toBe(accepted.length);
  const rows = await until('the end of all requests', seconds, async () => {
    const found = await stage.sql<Row>(
      `SELECT id, status, signature, failure_code AS failure FROM signing_request WHERE id = ANY($1)`,
      [ids],
    );
    return found.every(({ status }) => ['SIGNED', 'FAILED'].includes(status)) && found;
  });
  expect(rows).toHaveLength(accepted.length);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const bad = accepted.filter(({ requestId, message, key }) => {
    const { signature, failure } = byId.get(requestId) as Row;
    const publicKey = keys.get(key) as PublishedKey;
    return signature === null ? failure === null : !verifies(message, publicKey, signature);
  });
  expect(bad).toEqual([]);
  const signings = await stage.sql(
    `SELECT r.id, count(e.id) FROM signing_request r
     LEFT JOIN audit_entry e ON e.target_id = r.id::text AND e.action = 'signing.signed'
     WHERE r.id = ANY($1) AND r.status = 'SIGNED' GROUP BY r.id HAVING count(e.id) <> 1`,
    [ids],
  );
  // Requests that were not signed exactly once.
  expect(signings).toEqual([]);
  return rows;
}

const countOf = (rows: Row[], status: string): number => rows.filter((row) => row.status === status).length;

/** Kills a process and starts a new process with the same role, as a supervisor would. */
async function crash(processes: Service[], role: 'api' | 'worker', which: number): Promise<void> {
  await processes[which]?.kill('SIGKILL');
  processes[which] = await stage.start({ role });
}

it('300 jobs while key process, worker, Redis and api are killed in turn all end, each signed at most once', async () => {
  const kills: string[] = [];
  const killInTurn = async (turn: number) => {
    if (killKeyProcess(workers[turn] as Service)) kills.push('key process');
    await sleep(100);
    await crash(workers, 'worker', turn);
    kills.push('worker');
    await stage.redis.kill();
    await stage.restartRedis();
    kills.push('redis');
    await crash(apis, 'api', turn);
    kills.push('api');
  };
  const chaos = { over: false };
  const monkey = killInTurn(0)
    .then(() => killInTurn(1))
    .finally(() => (chaos.over = true));
  const accepted: Accepted[] = [];
  while (!chaos.over || accepted.length < JOBS) {
    accepted.push(...(await submitMany(20)));
    // The second half of the requests is spread over the period in which processes are killed.
    await sleep(accepted.length < JOBS / 2 || chaos.over ? 0 : 100);
  }
  await monkey;
  const rows = await assertAllEnded(accepted, 40);
  expect(countOf(rows, 'SIGNED')).toBe(rows.length);
  expect(kills.length).toBeGreaterThanOrEqual(7);
});

it('a killed key process is replaced, and signs', async () => {
  const service = apis[0] as Service;
  const pidWhenUp = () =>
    until('a key process', 30, async () => {
      const { body } = await service.call('GET', '/actuator/health', { key: apiKey });
      const { status, details } = body.components.hsm;
      return status === 'UP' && (details.pid as number);
    });
  const before = await pidWhenUp();
  process.kill(before, 'SIGKILL');
  await until('another key process', 30, async () => (await pidWhenUp()) !== before);
  expect((await sign(service, { key: apiKey, body: { digest: digestOf('after') } })).status).toBe(200);
});

it('two api and two worker processes share the work', async () => {
  const signersOf = async (ids: string[]) => {
    const rows = await stage.sql<{ actor: string; count: number }>(
      `SELECT actor_id AS actor, count(*)::int FROM audit_entry WHERE action = 'signing.signed' AND target_id = ANY($1) GROUP BY 1`,
      [ids],
    );
    return rows.map(({ actor }) => actor);
  };
  const atOne = async (service: Service) => {
    const { body } = await sign(service, { key: apiKey, body: { digest: digestOf(randomUUID()) } });
    return body.requestId as string;
  };
  const [first, second] = await Promise.all(apis.map(async (api) => signersOf([await atOne(api)])));
  const jobs = await submitMany(200);
  await assertAllEnded(jobs, 20);
  const background = await signersOf(jobs.map(({ requestId }) => requestId));
  expect(background).toHaveLength(2);
  expect(new Set([...(first ?? []), ...(second ?? []), ...background]).size).toBe(4);
});

describe('while 200 requests are queued, Redis', () => {
  it('is flushed: all requests end', async () => {
    await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
    const jobs = await submitMany(200);
    const [{ queued } = { queued: 0 }] = await stage.sql<{ queued: number }>(
      `SELECT count(*)::int AS queued FROM signing_request WHERE status = 'QUEUED'`,
    );
    expect(queued).toBe(200);
    await until(
      'every bell has gone to Redis',
      30,
      async () => (await stage.sql('SELECT id FROM outbox_message')).length === 0,
    );
    await stage.flushRedis();
    workers = await Promise.all([stage.start({ role: 'worker' }), stage.start({ role: 'worker' })]);
    expect(countOf(await assertAllEnded(jobs, 20), 'SIGNED')).toBe(200);
  });

  it('is stopped: new requests are signed by polling, and health reports it', async () => {
    await stage.redis.stop();
    await until('a degraded health', 30, async () => {
      const { status, body } = await (apis[0] as Service).call('GET', '/actuator/health');
      return status === 200 && body.status === 'DEGRADED';
    });
    const rows = await assertAllEnded(await submitMany(100), 20);
    expect(countOf(rows, 'SIGNED')).toBe(100);
    await stage.restartRedis();
    const after = await assertAllEnded(await submitMany(20), 20);
    expect(countOf(after, 'SIGNED')).toBe(20);
  });
});

it('no job signal, lease or intermediate state is left afterwards', async () => {
  await until('an empty outbox', 30, async () => (await stage.sql('SELECT id FROM outbox_message')).length === 0);
  const left = await stage.sql(`SELECT status, count(*) FROM signing_request WHERE finished_at IS NULL GROUP BY 1`);
  expect(left).toEqual([]);
});
