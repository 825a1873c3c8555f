import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { watchEventLoop } from '../support/event-loop.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { newApprover } from '../approvals/approvers.js';
import { registerSensor } from '../sensors/sensor-calls.js';
import { costlyStore } from './costly-store.js';
import { about, algorithm, bom } from './documents.js';

const MB = 1024 * 1024;
/** Limit for the 99th percentile of event loop blocking times, in milliseconds. */
const MAX_P99_MS = 100;
const loop = watchEventLoop();
const STALL_SECONDS = 2;
/**
 * Number of key derivation rounds, which is within a key store's budget but exceeds the time limit on any machine, because each round makes three hash calls.
 */
const SLOW_ROUNDS = 1_000_000;

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: loop.settings });
});
afterAll(() => stage.close());

/** Runs the work and checks that the event loop stayed responsive. */
async function during<Found>(work: () => Promise<Found>): Promise<Found> {
  let found: Found | undefined;
  const { p99 } = await loop.during(service, async () => {
    found = await work();
  });
  expect(p99).toBeLessThan(MAX_P99_MS);
  return found as Found;
}

interface IngestCall {
  readonly type?: string;
  readonly to?: Service;
  readonly later?: boolean;
  readonly key?: string;
}

const ingest = (
  body: unknown,
  { type = 'application/json', to = service, later = false, key = apiKey }: IngestCall = {},
): Promise<Answer> =>
  to.call('POST', `/api/ingest${later ? '?async=true' : ''}`, { key, body, headers: { 'content-type': type } });

const described = (description: string) =>
  bom([{ ...algorithm({ name: 'RSA-2048' }), description }], about(description.slice(0, 3)));
const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join(',')}}`;
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** Bodies whose processing was once far more expensive than their length justified. */
const BODIES: readonly [what: string, body: () => string | Buffer | object, status: number, type?: string][] = [
  ['4 MB of a letter', () => 'a'.repeat(4 * MB), 422, 'application/octet-stream'],
  ['a description of 4 MB of a letter', () => described(`${'a'.repeat(4 * MB)} token`), 200],
  ['a description of beginnings of tokens', () => described('eyJ-'.repeat(MB / 8)), 200],
  ['a description of beginnings of keys', () => described(`-----BEGIN ${'PRIVATE KEY'.repeat(MB / 16)}`), 200],
  ['a name of beginnings of curves', () => bom([algorithm({ name: 'oakley'.repeat(MB / 8) })], about('curves')), 200],
  ['a store of 1,000 parts', () => costlyStore(1000, 'PBES2', 2_000_000), 422, 'application/x-pkcs12'],
  ['a store of 1,000 parts of little cost', () => costlyStore(1000, '3DES', 1), 422, 'application/x-pkcs12'],
  ['1 MB of nested lists', () => nested(MB / 2), 422],
  [
    'nested lists in a component',
    () => `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[${nested(MB / 2)}]}`,
    422,
  ],
  ['100,000 members', () => members(100_000), 422],
  [
    '100,000 members of metadata',
    () => `{"bomFormat":"CycloneDX","specVersion":"1.6","metadata":${members(100_000)}}`,
    422,
  ],
  ['beginnings of PEM blocks', () => '-----BEGIN CERTIFICATE-----'.repeat(40_000), 422, 'application/x-pem-file'],
  ['lists of DER in one another', () => Buffer.alloc(MB, Buffer.from([0x30, 0x80])), 200, 'application/octet-stream'],
];

describe('input that may cost more than its length suggests', () => {
  it.each(BODIES)('is accepted or rejected without delaying others: %s', async (_, body, status, type) => {
    const bytes = body();
    const sent = await during(() => ingest(bytes, { type }));
    const { status: got, body: answer } = sent;
    // A body of nested lists may be refused as unreadable JSON or as an unknown format.
    expect([`${status}`, '400'].map((one) => `${one} ${got === 200 ? '' : answer.code}`)).toContain(
      `${got} ${got === 200 ? '' : answer.code}`,
    );
  });

  it('includes a URL of question marks, which costs nothing', async () => {
    const calls = () => Array.from({ length: 20 }, () => service.call('GET', `/x${'?'.repeat(15_500)}`));
    const [first] = await during(() => Promise.all(calls()));
    expect(first?.status).toBe(404);
  });
});

describe('a document that takes too long to process', () => {
  let hasty: Service;
  beforeAll(async () => {
    hasty = await stage.start({ role: 'api', settings: { SVC_INGEST_STALL_SECONDS: String(STALL_SECONDS) } });
  });

  const slow = () => costlyStore(1, '3DES', SLOW_ROUNDS);
  const good = (name: string) => bom([algorithm({ name: 'AES-128' })], about(name));

  it('is rejected with the reason, and later documents are processed', async () => {
    const type = 'application/x-pkcs12';
    // Sends one costly document per thread, so that the other documents have to wait.
    const costly = [ingest(slow(), { type, to: hasty }), ingest(slow(), { type, to: hasty })];
    const others = ['first', 'second', 'third'].map((name) => ingest(good(name), { to: hasty }));
    for (const { status, body } of await Promise.all(costly)) {
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'document.too-costly' });
      // The thread's watchdog stopped the processing of the document. An exceeded round budget would be reported as a key store error.
      expect(body.detail).toMatch(/^The document /);
    }
    for (const { status, body } of await Promise.all(others))
      expect({ status, code: body.code }).toEqual({ status: 200 });
  });

  it('is also rejected when the merge takes too long in the database, and another document is merged', async () => {
    const parts = (...names: string[]) =>
      bom(
        names.map((name) => algorithm({ name })),
        about('merged'),
      );
    await ingest(parts('AES-128', 'AES-192'), { to: hasty });
    await stage.sql(
      `CREATE FUNCTION slow_place() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN new; END';
       CREATE TRIGGER slow_place BEFORE UPDATE ON asset_occurrence FOR EACH ROW EXECUTE FUNCTION slow_place()`,
    );
    const { status, body } = await ingest(parts('AES-128'), { to: hasty });
    await stage.sql('DROP FUNCTION slow_place CASCADE');
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'document.too-costly' });
    expect(body.detail).toMatch(/to merge/);
    expect((await ingest(parts('AES-128'), { to: hasty })).status).toBe(200);
  });

  it('is rejected once and not retried when imported in the background', async () => {
    const { status, headers } = await ingest(slow(), { type: 'application/x-pkcs12', to: hasty, later: true });
    expect(status).toBe(202);
    let ended: Answer['body'];
    do ended = (await hasty.call('GET', `${headers.get('location')}?wait=10`, { key: apiKey })).body;
    while (ended.endedAt === null);
    expect(ended).toMatchObject({ status: 'REFUSED', attempts: 1, problem: { code: 'document.too-costly' } });
  });
});

describe('a reporter with costly documents', () => {
  const type = 'application/x-pkcs12';
  const COUNT = 16;
  let hostile: string;
  let hostileId: string;
  let other: string;

  beforeAll(async () => {
    ({ id: hostileId, key: hostile } = await newApiKey(service, apiKey, ['inventory:report']));
    // Uses another person's token, because all keys of one person share a single turn in the queue.
    other = (await newApprover({ stage, service, apiKey }, ['admin'])).accessToken;
  });
  const small = (name: string) => bom([algorithm({ name: 'AES-128' })], about(name));

  it('delays another reporter by at most the documents being read, even with several keys', async () => {
    const keys = await Promise.all(
      Array.from({ length: COUNT / 2 }, async () => (await newApiKey(service, apiKey, ['inventory:report'])).key),
    );
    const order: string[] = [];
    const ended = (name: string) => () => void order.push(name);
    const costly = Array.from({ length: COUNT }, (_, index) =>
      ingest(costlyStore(1, 'PBES2', 1_000_000), { type, key: keys[index % keys.length] }).then(ended('costly')),
    );
    await Promise.race(costly);
    const sentAfter = order.length;
    await ingest(small('fair'), { key: other }).then(ended('small'));
    await Promise.all(costly);
    expect(order.indexOf('small') - sentAfter).toBeLessThan(COUNT / 3);
  });

  it('does not block other reporters, however long its documents take', async () => {
    const ended: string[] = [];
    const long = Array.from({ length: 3 }, () =>
      ingest(costlyStore(1, 'PBES2', 2_500_000), { type, key: hostile }).then(() => void ended.push('long')),
    );
    // When the first call returns, a long document has a thread or is next in line for a thread.
    await ingest(small('first'), { key: other });
    await ingest(small('beside'), { key: other });
    expect(ended).toEqual([]);
    await Promise.all(long);
  });

  it('delays background imports of another reporter no longer than that', async () => {
    for (let sent = 0; sent < 10; sent += 1)
      expect((await ingest(costlyStore(1, 'PBES2', 250_000), { type, key: hostile, later: true })).status).toBe(202);
    const { body } = await ingest(small('fair later'), { key: other, later: true });
    const { body: done } = await service.call('GET', `/api/imports/${body.id}?wait=30`, { key: other });
    expect(done.status).toBe('DONE');
    const [before] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int FROM inventory_import h, inventory_import o WHERE o.id = $1
         AND h.order -> 'caller' ->> 'id' <> o.order -> 'caller' ->> 'id' AND h.started_at BETWEEN o.created_at AND o.started_at`,
      [body.id],
    );
    expect(before?.count).toBeLessThan(4);
  });

  it('uses a limited part of the import queue, whatever the number of its keys', async () => {
    const { key: sensor } = await registerSensor(service, apiKey);
    await stage.sql(
      `INSERT INTO inventory_import (id, bytes, "order", owner_id, lease_until)
       SELECT gen_random_uuid(), 0, jsonb_build_object('caller', jsonb_build_object('id', gen_random_uuid())), owner_id, now() + interval '1 hour'
       FROM api_key, generate_series(1, 200) WHERE id = $1`,
      [hostileId],
    );
    const answers = await Promise.all([hostile, sensor].map((key) => ingest(small('queue'), { key, later: true })));
    await stage.sql(`DELETE FROM inventory_import WHERE bytes = 0`);
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [429, 'ingest.busy'],
      [202, undefined],
    ]);
    expect(answers[0]?.headers.get('retry-after')).toBe('30');
  });

  it('has a limit of key derivation per minute, which does not affect plain documents or others', async () => {
    const thrifty = await stage.start({ role: 'api', settings: { SVC_DERIVATION_ROUNDS_PER_MINUTE: '60000' } });
    const store = () => costlyStore(1, 'PBES2', 40_000);
    const answers: Answer[] = [];
    // Sends three documents, because a new minute may begin between two of them.
    for (let sent = 0; sent < 3; sent += 1) answers.push(await ingest(store(), { type, to: thrifty, key: hostile }));
    expect(answers[0]?.body.code).toBe('key-store.password');
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const { body, headers } of refused) {
      expect(body.code).toBe('ingest.derivations');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect((await ingest(small('thrifty'), { to: thrifty, key: hostile })).status).toBe(200);
    expect((await ingest(store(), { type, to: thrifty, key: other })).body.code).toBe('key-store.password');
    await thrifty.kill();
  });
});
