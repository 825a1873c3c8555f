import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inDays, newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { Authority } from '../support/authority.js';
import { createKey, digestOf, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let services: Service[];
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  services = [await stage.start(), await stage.start()];
});
afterAll(() => stage.close());

const one = (): Service => services[0] as Service;
const freshDigest = (): string => digestOf(randomBytes(32));
const withKey = (key: string) => ({ 'idempotency-key': key });

async function requestsFor(digest: string): Promise<number> {
  const rows = await stage.sql(`SELECT id FROM signing_request WHERE digest = decode($1, 'base64')`, [digest]);
  return rows.length;
}

describe('50 concurrent calls with one Idempotency-Key to two processes', () => {
  it.each(['default', 'demo-rsa'])(
    'synchronous with %s: one request, one HSM operation, one signature',
    async (key) => {
      const digest = freshDigest();
      const order = { key: apiKey, body: { digest, key }, headers: withKey(randomUUID()) };
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => sign(services[i % 2] as Service, order)));
      expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
      expect(new Set(answers.map(({ body }) => body.requestId)).size).toBe(1);
      expect(new Set(answers.map(({ body }) => body.signature)).size).toBe(1);
      expect(await requestsFor(digest)).toBe(1);
      expect(stage.operationsOn(digest)).toBe(1);
    },
  );

  it('asynchronous: one request, one HSM operation', async () => {
    const digest = freshDigest();
    const order = { key: apiKey, body: { digest, async: true }, headers: withKey(randomUUID()) };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => sign(services[i % 2] as Service, order)));
    // A repeated call that arrives late may return a request that has already been signed.
    expect(answers.filter(({ status }) => status !== 202 && status !== 200)).toEqual([]);
    const ids = new Set(answers.map(({ body }) => body.requestId));
    expect(ids.size).toBe(1);
    expect((await read(one(), apiKey, answers[0]?.body.requestId)).body.status).toBe('SIGNED');
    expect(await requestsFor(digest)).toBe(1);
    expect(stage.operationsOn(digest)).toBe(1);
  });

  it('for a signing key: one key pair', async () => {
    const order = {
      key: apiKey,
      body: { name: 'made-once', type: 'ec-p256' },
      headers: withKey(randomUUID()),
    };
    const call = (service: Service) => service.call('POST', '/api/v1/signing-keys', order);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => call(services[i % 2] as Service)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await stage.sql(`SELECT id FROM signing_key WHERE name = 'made-once'`)).toHaveLength(1);
  });
});

describe('a replayed response', () => {
  const replayed = ({ headers }: Answer) => headers.get('idempotent-replayed');

  it('contains Idempotent-Replayed: true, unlike the first one', async () => {
    const [digest, use] = [freshDigest(), randomUUID()];
    const signed = () => sign(one(), { key: apiKey, body: { digest }, headers: withKey(use) });
    expect([replayed(await signed()), replayed(await signed())]).toEqual([null, 'true']);
    const order = { key: apiKey, body: { name: `replayed-${use}`, type: 'ec-p256' }, headers: withKey(use) };
    const made = () => one().call('POST', '/api/v1/signing-keys', order);
    expect([replayed(await made()), replayed(await made())]).toEqual([null, 'true']);
    const batch = { key: apiKey, body: { items: [{ digest: freshDigest() }] }, headers: withKey(use) };
    const both = () => one().call('POST', '/api/v1/sign/batch', batch);
    expect([replayed(await both()), replayed(await both())]).toEqual([null, 'true']);
  });

  it('is distinguished from calls recorded in the same batch', async () => {
    const old = { digest: freshDigest(), use: randomUUID() };
    const call = ({ digest, use }: typeof old) => sign(one(), { key: apiKey, body: { digest }, headers: withKey(use) });
    await call(old);
    const fresh = () => ({ digest: freshDigest(), use: randomUUID() });
    const answers = await Promise.all([fresh(), old, fresh(), old, fresh()].map(call));
    expect(answers.map(replayed)).toEqual([null, 'true', null, 'true', null]);
  });
});

it('a pending request has a Retry-After header', async () => {
  const answer = await sign(one(), { key: apiKey, body: { digest: freshDigest(), async: true } });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([202, '2']);
});

describe('signing key operations with one Idempotency-Key', () => {
  const post = (service: Service, path: string, body: object, key: string): Promise<Answer> =>
    service.call('POST', `/api/v1/signing-keys/${path}`, { key: apiKey, body, headers: withKey(key) });

  it('rotate: one new version, however often and wherever it is called', async () => {
    const { id } = await createKey(one(), apiKey, { name: 'rotated-once', type: 'ec-p256' });
    const use = randomUUID();
    const first = await post(one(), `${id}/rotate`, {}, use);
    const again = await Promise.all(services.map((service) => post(service, `${id}/rotate`, {}, use)));
    expect([first, ...again].map(({ status, body }) => [status, body.version])).toEqual(
      Array.from({ length: 3 }, () => [201, 2]),
    );
    expect((await post(one(), `${id}/rotate`, { activate: 'now' }, use)).body.code).toBe('idempotency.other-body');
    expect(await stage.sql(`SELECT version FROM signing_key_version WHERE key_id = $1`, [id])).toHaveLength(2);
  });

  it('certificate signing request: the same bytes, signed once, even after a rotation', async () => {
    const { id } = await createKey(one(), apiKey, { name: 'requested-once', type: 'ec-p256' });
    const [use, body] = [randomUUID(), { subject: { commonName: 'Once' } }];
    const first = await post(one(), `${id}/csr`, body, use);
    await post(one(), `${id}/rotate`, {}, randomUUID());
    const again = await Promise.all(services.map((service) => post(service, `${id}/csr`, body, use)));
    expect(again.map((answer) => answer.body.csr)).toEqual([first.body.csr, first.body.csr]);
    expect(first.body.csr).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----/);
    expect(await stage.sql(`SELECT id FROM signing_request WHERE key_id = $1`, [id])).toHaveLength(1);
    const other = await post(one(), `${id}/csr`, { subject: { commonName: 'Twice' } }, use);
    expect(other.body.code).toBe('idempotency.other-body');
  });

  it('certificate import: one certificate, and no conflict', async () => {
    const { id } = await createKey(one(), apiKey, { name: 'imported-once', type: 'ec-p256' });
    const authority = new Authority();
    const { body: asked } = await post(one(), `${id}/csr`, { subject: { commonName: 'Once' } }, randomUUID());
    const { chain } = authority.issue(asked.csr);
    authority.remove();
    const use = randomUUID();
    const answers = await Promise.all(services.map((service) => post(service, `${id}/certificate`, { chain }, use)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
    expect((await post(one(), `${id}/certificate`, { chain }, randomUUID())).body.code).toBe('certificate.known');
  });
});

describe('a repeated call', () => {
  it('after success returns the same response, for any order of members', async () => {
    const digest = freshDigest();
    const headers = withKey(randomUUID());
    const metadata = { a: 1, b: { c: 2, d: 3 } };
    const first = await sign(one(), { key: apiKey, body: { digest, metadata, reference: 'r' }, headers });
    const again = await sign(one(), {
      key: apiKey,
      body: { reference: 'r', metadata: { b: { d: 3, c: 2 }, a: 1 }, digest },
      headers,
    });
    expect(again.status).toBe(first.status);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(stage.operationsOn(digest)).toBe(1);
  });

  it('after a lost response returns the signature from another process', async () => {
    const digest = freshDigest();
    const order = { key: apiKey, body: { digest }, headers: withKey(randomUUID()) };
    const dying = await stage.start();
    const lost = sign(dying, order).catch(() => undefined);
    await dying.kill('SIGKILL');
    await lost;
    const again = await sign(one(), order);
    // The first process may have died before the commit or while processing the request. If the first process was processing the request, the lease must expire
    // first.
    const { body } = again.status === 200 ? again : await read(one(), apiKey, await requestIdOf(digest), 15);
    expect(body).toMatchObject({ status: 'SIGNED', digest });
    expect(await requestsFor(digest)).toBe(1);
  });

  it.each<[string, Record<string, unknown>]>([
    ['another digest', { digest: digestOf('other') }],
    ['another key', { key: 'demo-rsa' }],
    ['another scheme', { scheme: 'ecdsa-raw' }],
    ['another way', { async: true }],
    ['metadata', { metadata: { a: 1 } }],
  ])('with %s is rejected', async (_, change) => {
    const body = { digest: freshDigest() };
    const headers = withKey(randomUUID());
    expect((await sign(one(), { key: apiKey, body, headers })).status).toBe(200);
    const other = await sign(one(), { key: apiKey, body: { ...body, ...change }, headers });
    expect(other.status).toBe(422);
    expect(other.body.code).toBe('idempotency.other-body');
  });

  it('to create an API key does not return the key again', async () => {
    const order = {
      key: apiKey,
      body: { name: 'once', permissions: ['sign:read'], expiry: inDays(1) },
      headers: withKey(randomUUID()),
    };
    const call = (body: object): Promise<Answer> => one().call('POST', '/api/settings/api-keys', { ...order, body });
    const first = await call(order.body);
    expect(first.status).toBe(201);
    const again = await call(order.body);
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({
      code: 'idempotency.secret-shown',
      instance: `/api/settings/api-keys/${first.body.id}`,
    });
    expect(JSON.stringify(again.body)).not.toContain(first.body.key);
    expect((await call({ ...order.body, name: 'twice' })).body.code).toBe('idempotency.other-body');
    expect(await stage.sql(`SELECT id FROM api_key WHERE name IN ('once', 'twice')`)).toHaveLength(1);
  });
});

describe('an Idempotency-Key', () => {
  it('does not collide with that of another caller', async () => {
    const { key: other } = await newApiKey(one(), apiKey, ['sign:digest']);
    const headers = withKey(randomUUID());
    const mine = await sign(one(), { key: apiKey, body: { digest: freshDigest() }, headers });
    const theirs = await sign(one(), { key: other, body: { digest: freshDigest() }, headers });
    expect([mine.status, theirs.status]).toEqual([200, 200]);
    expect(theirs.body.requestId).not.toBe(mine.body.requestId);
  });

  it('does not collide with that of another operation', async () => {
    const headers = withKey(randomUUID());
    const signed = await sign(one(), { key: apiKey, body: { digest: freshDigest() }, headers });
    const made = await one().call('POST', '/api/v1/signing-keys', {
      key: apiKey,
      body: { name: 'another-operation', type: 'ec-p256' },
      headers,
    });
    expect([signed.status, made.status]).toEqual([200, 201]);
  });

  it('can be reused after a rejected call', async () => {
    const headers = withKey(randomUUID());
    expect((await sign(one(), { key: apiKey, body: { digest: 'no' }, headers })).status).toBe(400);
    expect((await sign(one(), { key: apiKey, body: { digest: freshDigest() }, headers })).status).toBe(200);
  });

  it('of a failed request returns the same failure', async () => {
    const digest = freshDigest();
    const order = { key: apiKey, body: { digest }, headers: withKey(randomUUID()) };
    // CKR_DATA_INVALID: retrying cannot succeed.
    stage.shim?.fault(`err 0x20 only ${Buffer.from(digest, 'base64').toString('hex')}`);
    const first = await sign(one(), order);
    stage.shim?.fault('');
    const again = await sign(one(), order);
    expect(first.body).toMatchObject({ status: 422, code: 'hsm.refused' });
    expect({ ...again.body, requestId: '' }).toEqual({ ...first.body, requestId: '' });
    expect(stage.operationsOn(digest)).toBe(1);
  });
});

async function requestIdOf(digest: string): Promise<string> {
  const [row] = await stage.sql<{ id: string }>(`SELECT id FROM signing_request WHERE digest = decode($1, 'base64')`, [
    digest,
  ]);
  return row?.id ?? '';
}
