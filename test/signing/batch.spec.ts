import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, publishedKey, type PublishedKey, until, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const BATCH = '/api/v1/sign/batch';

let stage: Stage;
let service: Service;
let apiKey: string;
let published: PublishedKey;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  published = await publishedKey(service, apiKey, 'default');
});
afterAll(() => stage.close());

const messages = (count: number): Buffer[] => Array.from({ length: count }, () => randomBytes(20));
const itemsOf = (all: Buffer[]) => all.map((message, i) => ({ digest: digestOf(message), reference: `file ${i}` }));

function post(body: object, headers?: Record<string, string>): Promise<Answer> {
  return service.call('POST', BATCH, { key: apiKey, body, headers });
}

interface Item {
  readonly index: number;
  readonly status: string;
  readonly signature: string;
  readonly reference: string;
  readonly requestId: string;
}

function allVerify(items: Item[], all: Buffer[]): boolean {
  return items.every((item, i) => {
    const fits = item.index === i && item.reference === `file ${i}` && item.status === 'SIGNED';
    return fits && verifies(all[i] ?? '', published, Buffer.from(item.signature, 'base64'));
  });
}

describe('POST /api/v1/sign/batch', () => {
  it('signs 1,000 digests in one call, each as a separate request, in far fewer commits', async () => {
    const all = messages(1000);
    const before = await commits();
    const { status, body } = await post({ items: itemsOf(all) });
    expect({ status, state: body.status, size: body.size, items: body.items.length }).toEqual({
      status: 200,
      state: 'DONE',
      size: 1000,
      items: 1000,
    });
    expect(allVerify(body.items, all)).toBe(true);
    expect(new Set(body.items.map(({ requestId }: Item) => requestId)).size).toBe(1000);
    expect((await commits()) - before).toBeLessThan(200);
  });

  it('returns a separate result for each item: one invalid digest does not affect the others', async () => {
    const all = messages(100);
    const items = itemsOf(all);
    items[42] = { digest: digestOf('x', 'sha1'), reference: 'file 42' };
    const { status, body } = await post({ items });
    expect(status).toBe(200);
    expect(body.items[42]).toEqual({
      index: 42,
      status: 'REFUSED',
      failure: { code: 'digest.length', detail: expect.stringContaining('32 bytes') as string },
    });
    expect(body.items.filter((item: Item) => item.status === 'SIGNED')).toHaveLength(99);
    const [entry] = await stage.sql<{ detail: object }>(
      `SELECT detail FROM audit_entry WHERE action = 'signing.batch' AND target_id = $1`,
      [body.batchId],
    );
    expect(entry?.detail).toMatchObject({ size: 100, accepted: 99, quoted: [{ index: 42, code: 'digest.length' }] });
  });

  it('returns 202 with async, and a batch to poll', async () => {
    const all = messages(50);
    const { status, headers, body } = await post({ items: itemsOf(all), async: true });
    expect({ status, state: body.status }).toEqual({ status: 202, state: 'PENDING' });
    const worker = await stage.start({ role: 'worker' });
    const polled = await service.call('GET', `${headers.get('location') ?? ''}?wait=20`, { key: apiKey });
    await worker.kill();
    expect(polled.body.status).toBe('DONE');
    expect(allVerify(polled.body.items, all)).toBe(true);
  });

  it('is not read again and again for callers who wait for it', async () => {
    const { body } = await post({ items: itemsOf(messages(200)), async: true });
    const path = `/api/v1/sign/batches/${body.batchId}`;
    const fetched = async () => {
      const [row] = await stage.sql<{ rows: string }>(
        `SELECT coalesce(idx_tup_fetch, 0) + seq_tup_read AS rows FROM pg_stat_user_tables WHERE relname = 'signing_request'`,
      );
      return Number(row?.rows);
    };
    const before = await fetched();
    const polls = Array.from({ length: 20 }, () => service.call('GET', `${path}?wait=4`, { key: apiKey }));
    expect((await Promise.all(polls)).map((poll) => poll.body.status)).toEqual(polls.map(() => 'PENDING'));
    // An idle connection reports its statistics within a second. Each of the 20 polls reads 200 rows only at the beginning and at the end, instead of five
    // times a second.
    await sleep(2000);
    expect((await fetched()) - before).toBeLessThan(20 * 200 * 10);
  });

  it('returns the same for a repeated Idempotency-Key, and calls the HSM once', async () => {
    const all = messages(20);
    const body = { items: itemsOf(all) };
    const headers = { 'idempotency-key': 'batch-1' };
    const answers = await Promise.all([post(body, headers), post(body, headers)]);
    answers.push(await post(body, headers));
    const ids = answers.map((answer) => (answer.body.items as Item[]).map(({ requestId }) => requestId));
    expect(ids[1]).toEqual(ids[0]);
    expect(ids[2]).toEqual(ids[0]);
    expect(all.map((message) => stage.operationsOn(digestOf(message)))).toEqual(all.map(() => 1));
    const other = await post({ items: itemsOf(messages(1)) }, headers);
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency.other-body' } });
  });

  it('resumes after an interruption without signing accepted items again', async () => {
    const all = messages(10);
    const body = { items: itemsOf(all) };
    const headers = { 'idempotency-key': 'batch-2' };
    const first = await post(body, headers);
    // Simulates a process that died after accepting six requests of the batch.
    await stage.sql(`DELETE FROM signing_request WHERE batch_id = $1 AND batch_index >= 6`, [first.body.batchId]);
    await stage.sql(`DELETE FROM idempotency_key WHERE key LIKE $1 AND split_part(key, '.', 2)::int >= 6`, [
      `${String(first.body.batchId)}.%`,
    ]);
    await stage.sql(`UPDATE signing_batch SET refused = NULL WHERE id = $1`, [first.body.batchId]);
    const again = await post(body, headers);
    expect(allVerify(again.body.items, all)).toBe(true);
    expect(all.map((message) => stage.operationsOn(digestOf(message)))).toEqual([1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
  });

  it.each([
    ['no items', { items: [] }, '/items'],
    ['more than 1,000', { items: itemsOf(messages(1001)) }, '/items'],
    ['an unknown member', { items: [{ digest: digestOf('x'), key: 'default' }] }, '/items/0/key'],
    ['authenticode', { items: itemsOf(messages(1)), format: 'authenticode' }, '/format'],
  ])('rejects %s', async (_, body, pointer) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'request.invalid', errors: [{ pointer }] } });
  });

  it('reports an unknown key per item', async () => {
    const { status, body } = await post({ items: itemsOf(messages(2)), key: 'nobody' });
    expect(status).toBe(200);
    expect(body.items.map(({ failure }: { failure: { code: string } }) => failure.code)).toEqual([
      'signing-key.unknown',
      'signing-key.unknown',
    ]);
  });

  it('looks an unknown key up a few times, not for each of 1,000 items', async () => {
    const lookups = async () => {
      const [row] = await stage.sql<{ scans: string }>(
        `SELECT coalesce(idx_scan, 0) + seq_scan AS scans FROM pg_stat_user_tables WHERE relname = 'signing_key'`,
      );
      return Number(row?.scans);
    };
    const before = await lookups();
    const { body } = await post({ items: itemsOf(messages(1000)), key: 'nobody' });
    expect(body.items).toHaveLength(1000);
    await sleep(2000);
    expect((await lookups()) - before).toBeLessThan(100);
  });

  it('is visible only to its owner and to audit log readers', async () => {
    const { body } = await post({ items: itemsOf(messages(1)) });
    const path = `/api/v1/sign/batches/${String(body.batchId)}`;
    expect((await service.call('GET', path, { key: apiKey })).status).toBe(200);
    const missing = await service.call('GET', '/api/v1/sign/batches/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', {
      key: (await newApiKey(service, apiKey, ['sign:read'])).key,
    });
    expect(missing).toMatchObject({ status: 404, body: { code: 'signing-batch.missing' } });
  });
});

/** Returns the number of transactions that wrote the requests. Rows of one transaction share xmin. */
async function commits(): Promise<number> {
  const [row] = await stage.sql<{ count: number }>(
    `SELECT count(DISTINCT xmin::text)::int AS count FROM audit_entry WHERE action IN ('signing.accepted', 'signing.signed')`,
  );
  return row?.count ?? 0;
}

it('an asynchronous request does not wait for the batch of another caller', async () => {
  const { key: other } = await newApiKey(service, apiKey, ['sign:digest', 'sign:read']);
  const slow = await createKey(service, apiKey, { name: `slow-${randomBytes(4).toString('hex')}`, type: 'rsa-4096' });
  await stage.start({ role: 'worker' });
  const open = () => stage.sql(`SELECT 1 FROM signing_request WHERE status IN ('QUEUED', 'PROCESSING') LIMIT 1`);
  await until('an empty queue', 60, async () => (await open()).length === 0);
  const { body: batch } = await post({ items: itemsOf(messages(1000)), key: slow.name, async: true });
  const order = { digest: digestOf('one'), async: true };
  const { body: one } = await service.call('POST', '/api/v1/sign/digest', { key: other, body: order });
  await until('the signature', 60, async () => {
    const { body } = await service.call('GET', `/api/v1/sign/requests/${one.requestId}?wait=20`, { key: other });
    return body.status === 'SIGNED';
  });
  const [row] = await stage.sql<{ done: number }>(
    `SELECT count(*)::int AS done FROM signing_request WHERE batch_id = $1 AND status = 'SIGNED'`,
    [batch.batchId],
  );
  expect(row?.done).toBeLessThan(500);
});
