import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { digestOf, type PublishedKey, read, until, verifies } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import { type Approver, held, newApprovers, newGuardedKey, type ApprovalFixture, vote } from './approvers.js';

const PEOPLE = 10;
const CALLS_EACH = 10;

let place: ApprovalFixture;
/** Second API process, which the tests kill and restart. The process in `place` keeps running. */
let api: Service;
let worker: Service;
let people: Approver[];

beforeAll(async () => {
  const stage = await openStage({ shim: true });
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ role: 'api' }) };
  api = await stage.start({ role: 'api' });
  worker = await startWorker();
  people = await newApprovers(place, PEOPLE);
});
afterAll(() => place.stage.close());

/** Starts a worker with a short HSM deadline, which shortens the lease, so that a dead worker's requests are taken over after four seconds. */
function startWorker(): Promise<Service> {
  return place.stage.start({ role: 'worker', settings: { SVC_PKCS11_DEADLINE_MS: '1000' } });
}

interface Asked {
  readonly message: string;
  readonly digest: string;
  readonly requestId: string;
  readonly approvalId: string;
}

async function ask(key: PublishedKey): Promise<Asked> {
  const message = randomUUID();
  const digest = digestOf(message);
  return { message, digest, ...(await held(place, { digest, key: key.name })) };
}

async function entriesOf(id: string): Promise<Record<string, number>> {
  const rows = await place.stage.sql<{ action: string; count: number }>(
    `SELECT action, count(*)::int FROM audit_entry WHERE target_id = $1 GROUP BY 1`,
    [id],
  );
  return Object.fromEntries(rows.map(({ action, count }) => [action, count]));
}

async function assertSignedOnce({ requestId, message }: Asked, key: PublishedKey): Promise<Record<string, number>> {
  const { body } = await until('the signature', 30, async () => {
    const answer = await read(place.service, place.apiKey, requestId, 5);
    return ['SIGNED', 'FAILED'].includes(answer.body.status) && answer;
  });
  expect(body.status).toBe('SIGNED');
  expect(verifies(message, key, Buffer.from(body.signature, 'base64'))).toBe(true);
  const entries = await entriesOf(requestId);
  expect(entries).toMatchObject({ 'signing.accepted': 1, 'signing.approved': 1, 'signing.signed': 1 });
  return entries;
}

describe('100 concurrent final approvals', () => {
  it('cause one release and one signature', async () => {
    const { key } = await newGuardedKey(place, [{ members: people, threshold: 3 }]);
    const asked = await ask(key);
    const [first, second, ...others] = people as [Approver, Approver, ...Approver[]];
    for (const person of [first, second]) await vote(place.service, asked.approvalId, person);
    const voters = [first, second, ...others];
    const calls = voters.flatMap((person) => Array.from({ length: CALLS_EACH }, () => person));
    expect(calls).toHaveLength(100);
    const answers = await Promise.all(
      calls.map(async (person, i) => {
        // On a busy machine, a vote may wait too long for the row lock. Like a real client, the test retries on 503.
        for (;;) {
          const answer = await vote(i % 2 === 0 ? place.service : api, asked.approvalId, person);
          if (answer.status !== 503) return answer;
        }
      }),
    );
    const codes = Map.groupBy(answers, ({ status, body }: Answer) => (status === 200 ? 'counted' : body.code));
    expect(codes.get('counted')).toHaveLength(1);
    const refused = ['approval.voted', 'approval.decided'].flatMap((code) => codes.get(code) ?? []);
    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 99 }, () => 409));
    await assertSignedOnce(asked, key);
    const votes = { 'approval.approved': 3, 'approval.decided': 1 };
    expect(await entriesOf(asked.approvalId)).toEqual({ 'approval.requested': 1, ...votes });
    expect(place.stage.operationsOn(asked.digest)).toBe(1);
  });
});

/** Runs `work` with a PostgreSQL session in an open transaction, which can hold locks to block the service. */
async function inTheWay<T>(work: (session: Client) => Promise<T>): Promise<T> {
  const session = new Client({ connectionString: place.stage.databaseUrl });
  await session.connect();
  try {
    await session.query('BEGIN');
    return await work(session);
  } finally {
    await session.end();
  }
}

/** Waits until a session is blocked by a lock on this table. */
async function assertSomebodyWaits(table: string): Promise<void> {
  await until(`somebody who waits for ${table}`, 30, async () => {
    const waiting = await place.stage.sql(
      `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = $1::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [table],
    );
    return waiting.length > 0;
  });
}

async function killApi(): Promise<void> {
  await api.kill('SIGKILL');
  // The statements of the dead process end when its connections are closed.
  await until('the end of its sessions', 30, async () => {
    const busy = await place.stage.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state IN ('active', 'idle in transaction')
         AND wait_event_type = 'Lock'`,
    );
    return busy.length === 0;
  });
  api = await place.stage.start({ role: 'api' });
}

describe('after kill -9', () => {
  it('before the vote is committed, the vote does not count, and the retry does', async () => {
    const { key } = await newGuardedKey(place, [{ members: people, threshold: 1 }]);
    const asked = await ask(key);
    const [voter] = people as [Approver];
    const headers = { 'idempotency-key': randomUUID() };
    const lost = await inTheWay(async (session) => {
      await session.query('LOCK TABLE outbox_message IN EXCLUSIVE MODE');
      const call = vote(api, asked.approvalId, voter, { headers }).catch(() => 'connection lost');
      await assertSomebodyWaits('outbox_message');
      await api.kill('SIGKILL');
      return call;
    });
    expect(lost).toBe('connection lost');
    await killApi();
    expect((await read(place.service, place.apiKey, asked.requestId, 0)).body.status).toBe('PENDING_APPROVAL');
    expect(await entriesOf(asked.approvalId)).toEqual({ 'approval.requested': 1 });
    const again = await vote(api, asked.approvalId, voter, { headers });
    expect(again.body.status).toBe('APPROVED');
    await assertSignedOnce(asked, key);
    expect(place.stage.operationsOn(asked.digest)).toBe(1);
  });

  it('between the commit of a vote and its response, the vote counts once, and the retry confirms it', async () => {
    const { key } = await newGuardedKey(place, [{ members: people, threshold: 1 }]);
    const asked = await ask(key);
    const [voter] = people as [Approver];
    const headers = { 'idempotency-key': randomUUID() };
    const lost = await inTheWay(async (holder) =>
      inTheWay(async (session) => {
        await holder.query('LOCK TABLE outbox_message IN EXCLUSIVE MODE');
        const call = vote(api, asked.approvalId, voter, { headers }).catch(() => 'connection lost');
        await assertSomebodyWaits('outbox_message');
        // The lock request queues behind the vote. The lock is granted after the vote is committed and before the service reads the approval for the response.
        const locked = session.query('LOCK TABLE approval_vote IN ACCESS EXCLUSIVE MODE');
        await assertSomebodyWaits('approval_vote');
        await holder.query('ROLLBACK');
        await locked;
        await assertSomebodyWaits('approval_vote');
        await api.kill('SIGKILL');
        return call;
      }),
    );
    expect(lost).toBe('connection lost');
    await killApi();
    const again = await vote(api, asked.approvalId, voter, { headers });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ status: 'APPROVED', votes: [{ by: { id: voter.id } }] });
    await assertSignedOnce(asked, key);
    expect(await entriesOf(asked.approvalId)).toMatchObject({ 'approval.approved': 1, 'approval.decided': 1 });
    expect(place.stage.operationsOn(asked.digest)).toBe(1);
  });

  it('between the vote and the queue, the request is still signed', async () => {
    const { key } = await newGuardedKey(place, [{ members: people, threshold: 1 }]);
    const asked = await ask(key);
    await worker.kill('SIGKILL');
    await place.stage.redis.kill();
    const answer = await vote(api, asked.approvalId, people[0] as Approver);
    expect(answer.body.status).toBe('APPROVED');
    expect((await place.stage.sql(`SELECT 1 FROM outbox_message WHERE subject = $1`, [asked.requestId])).length).toBe(
      1,
    );
    await killApi();
    await place.stage.restartRedis();
    worker = await startWorker();
    await assertSignedOnce(asked, key);
    expect(place.stage.operationsOn(asked.digest)).toBe(1);
  });

  it('between the signature and its commit, another attempt records one signature, and the log shows it', async () => {
    const { key } = await newGuardedKey(place, [{ members: people, threshold: 1 }]);
    const asked = await ask(key);
    place.stage.shim?.fault('slow 500');
    await vote(place.service, asked.approvalId, people[0] as Approver);
    await inTheWay(async (session) => {
      await until('the claim', 30, async () => (await entriesOf(asked.requestId))['signing.claimed'] === 1);
      await session.query('SELECT 1 FROM signing_request WHERE id = $1 FOR UPDATE', [asked.requestId]);
      const hex = Buffer.from(asked.digest, 'base64').toString('hex');
      await until('the signature of the HSM', 30, async () =>
        place.stage.shim?.journal().some((entry) => entry.kind === 'sign' && entry.hex.endsWith(hex)),
      );
      await worker.kill('SIGKILL');
    });
    place.stage.shim?.fault('');
    worker = await startWorker();
    const entries = await assertSignedOnce(asked, key);
    expect(entries).toMatchObject({ 'signing.claimed': 2, 'signing.outcome-unknown': 1 });
    expect(place.stage.operationsOn(asked.digest)).toBe(2);
  });
});
