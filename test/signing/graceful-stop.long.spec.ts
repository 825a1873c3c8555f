import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const MANY = 100;

let stage: Stage;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
});
beforeEach(() => stage.shim?.fault(''));
afterAll(() => stage.close());

const inState = async (status: string): Promise<number> => {
  const [row] = await stage.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM signing_request WHERE status = $1`,
    [status],
  );
  return row?.count ?? 0;
};

const unfinished = () => stage.sql(`SELECT id, status FROM signing_request WHERE finished_at IS NULL`);
const lostOnTheWay = () =>
  stage.sql(`SELECT id FROM audit_entry WHERE action IN ('signing.outcome-unknown', 'signing.discarded')`);

const signOnce = (service: Service, background = false, key: string = randomUUID()): Promise<Answer> =>
  sign(service, {
    key: apiKey,
    body: { digest: digestOf(randomUUID()), async: background },
    headers: { 'idempotency-key': key },
  });

/** Starts a worker and waits until some requests are being processed while other requests are queued. */
async function workerAtWork(): Promise<Service> {
  const api = await stage.start({ role: 'api' });
  const worker = await stage.start({ role: 'worker' });
  stage.shim?.fault('slow 20');
  await Promise.all(Array.from({ length: MANY }, () => signOnce(api, true)));
  await until('the worker is at work', 30, async () => (await inState('PROCESSING')) > 0);
  return worker;
}

it(`${MANY} callers wait for their signature when the api is told to stop: each gets it`, async () => {
  const service = await stage.start({ role: 'api' });
  stage.shim?.fault('slow 300');
  const calls = Array.from({ length: MANY }, () => signOnce(service));
  await until('all have arrived', 60, async () => (await inState('PROCESSING')) + (await inState('SIGNED')) === MANY);
  expect(await inState('PROCESSING')).toBeGreaterThan(0);
  const stopped = service.kill('SIGTERM');
  stage.shim?.fault('slow 20');
  const answers = await Promise.all(calls);
  expect(answers.map(({ status }) => status)).toEqual(Array(MANY).fill(200));
  expect(await stopped).toBe('SIGTERM');
  expect(await unfinished()).toEqual([]);
});

it('a shutdown under steady load loses no response, and later calls are not accepted', async () => {
  const service = await stage.start({ role: 'api' });
  const outcomes: { outcome: string; key: string }[] = [];
  const load = { over: false };
  const caller = async () => {
    while (!load.over) {
      const key = randomUUID();
      const outcome = await signOnce(service, false, key).then(
        ({ status }) => String(status),
        (error: Error & { cause?: { code?: string } }) => error.cause?.code ?? error.message,
      );
      outcomes.push({ outcome, key });
      if (outcome !== '200') return;
    }
  };
  const callers = Array.from({ length: 20 }, caller);
  await until('a steady load', 30, async () => outcomes.length > 40);
  const readiness = async () => (await service.call('GET', '/actuator/health/readiness')).status;
  expect(await readiness()).toBe(200);
  // The readiness check must fail before the service refuses connections.
  const told = until('what load balancers are told', 30, async () => (await readiness()) === 503);
  expect(await service.kill('SIGTERM')).toBe('SIGTERM');
  load.over = true;
  await told;
  await Promise.all(callers);
  // A connection accepted by the kernel but not yet by the server is reset when the server stops listening.
  const known = ['200', 'ECONNREFUSED', 'ECONNRESET'];
  expect(outcomes.filter(({ outcome }) => !known.includes(outcome))).toEqual([]);
  expect(outcomes.filter(({ outcome }) => outcome === '200').length).toBeGreaterThan(20);
  const refused = outcomes.filter(({ outcome }) => outcome !== '200').map(({ key }) => key);
  expect(await stage.sql(`SELECT key FROM idempotency_key WHERE key = ANY($1)`, [refused])).toEqual([]);
  expect(await unfinished()).toEqual([]);
});

it('a body still being received is rejected, and does not delay the shutdown', async () => {
  const service = await stage.start({ role: 'api' });
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  let answer = '';
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString()));
  const head = [`POST /api/ingest HTTP/1.1`, `Host: ${hostname}`, `Authorization: Bearer ${apiKey}`];
  socket.write(`${[...head, 'Content-Type: application/json', 'Content-Length: 1000000'].join('\r\n')}\r\n\r\n`);
  const sending = setInterval(() => socket.write(' '.repeat(1000)), 100);
  await sleep(300);
  expect(await service.kill('SIGTERM')).toBe('SIGTERM');
  clearInterval(sending);
  socket.destroy();
  expect(answer).toMatch(/^HTTP\/1.1 408 [^]*"code":"request.timeout"/);
});

it('accepted work survives the process that accepted it', async () => {
  const service = await stage.start({ role: 'api' });
  const answers = await Promise.all(Array.from({ length: MANY }, () => signOnce(service, true)));
  expect(answers.map(({ status }) => status)).toEqual(Array(MANY).fill(202));
  expect(await service.kill('SIGTERM')).toBe('SIGTERM');
  expect(await inState('QUEUED')).toBe(MANY);
  const worker = await stage.start({ role: 'worker' });
  await until('all are signed', 30, async () => (await unfinished()).length === 0);
  expect(await inState('FAILED')).toBe(0);
  await worker.kill();
});

it('a stopping worker finishes its claimed requests and leaves the rest to others', async () => {
  const leaving = await workerAtWork();
  expect(await leaving.kill('SIGTERM')).toBe('SIGTERM');
  expect(await inState('PROCESSING')).toBe(0);
  const other = await stage.start({ role: 'worker' });
  await until('the rest is signed', 30, async () => (await unfinished()).length === 0);
  expect(await inState('FAILED')).toBe(0);
  expect(await lostOnTheWay()).toEqual([]);
  await other.kill();
});

describe.each([
  { redis: 'dies and comes back', harm: () => stage.redis.kill(), mend: () => stage.restartRedis(), back: true },
  { redis: 'dies and stays away', harm: () => stage.redis.kill(), mend: () => stage.restartRedis(), back: false },
  {
    redis: 'takes connections and answers nobody',
    harm: () => stage.redis.kill('SIGSTOP'),
    mend: () => stage.redis.kill('SIGCONT'),
    back: false,
  },
])('a worker that stops while Redis $redis', ({ harm, mend, back }) => {
  afterEach(() => (back ? undefined : mend()));

  it('finishes its claimed requests too', async () => {
    const leaving = await workerAtWork();
    await harm();
    const stopped = leaving.kill('SIGTERM');
    if (back) await mend();
    expect(await stopped).toBe('SIGTERM');
    expect(await inState('PROCESSING')).toBe(0);
    expect(await inState('FAILED')).toBe(0);
    expect(await lostOnTheWay()).toEqual([]);
  });
});

it.each([2, 4, 6])('a worker stops cleanly %i ms after an unavailable Redis recovers', async (ms) => {
  await stage.redis.kill('SIGSTOP');
  const worker = await stage.start({ role: 'worker' });
  await sleep(300);
  await stage.redis.kill('SIGCONT');
  await sleep(ms); // the Redis connections are not ready yet
  expect(await worker.kill('SIGTERM')).toBe('SIGTERM');
});
