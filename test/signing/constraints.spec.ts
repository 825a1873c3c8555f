import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;
let keys = 0;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  [service, other] = await Promise.all([stage.start({ role: 'api' }), stage.start({ role: 'api' })]);
});
afterAll(() => stage.close());

function newKey(constraints: object, type = 'ec-p256'): Promise<PublishedKey> {
  const order = { name: `constrained-${(keys += 1)}`, type, constraints };
  return createKey(service, apiKey, order);
}

/** Returns a digest that has not been used before. */
const fresh = () => digestOf(randomBytes(16));

const ask = (key: PublishedKey, body: object = {}, at = service, by = apiKey) =>
  sign(at, { key: by, body: { digest: fresh(), key: key.name, ...body } });

/** Returns the number of signatures with this key requested from the HSM, according to the shim's journal. */
async function asked({ id }: PublishedKey): Promise<number> {
  const rows = await stage.sql<{ cka: string }>(
    `SELECT encode(cka_id, 'hex') AS cka FROM signing_key_version WHERE key_id = $1`,
    [id],
  );
  const ids = new Set(rows.map(({ cka }) => cka));
  return stage.shim?.journal().filter(({ kind, key }) => kind === 'ask' && ids.has(key)).length ?? NaN;
}

async function refusalsOf(correlation: string | null, code: string): Promise<number> {
  const rows = await stage.sql(`SELECT 1 FROM audit_entry WHERE correlation = $1 AND detail->>'code' = $2`, [
    correlation,
    code,
  ]);
  return rows.length;
}

async function change(key: PublishedKey, body: object, headers?: Record<string, string>): Promise<Answer> {
  const path = `/api/v1/signing-keys/${key.id}`;
  const { headers: answered } = await service.call('GET', path, { key: apiKey });
  return service.call('PATCH', path, {
    key: apiKey,
    body,
    headers: headers ?? { 'if-match': answered.get('etag') ?? '' },
  });
}

const NEVER = { days: ['mon'], from: '00:00', until: '00:01', timeZone: 'UTC' };
const ALWAYS = {
  days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
  from: '00:00',
  until: '24:00',
  timeZone: 'UTC',
};
const SHA384 = { digest: digestOf('x', 'sha384'), algorithm: 'sha384' };

describe('a use outside the constraints is rejected with the reason and audited, without calling the HSM', () => {
  it.each([
    ['algorithm', 403, { algorithms: ['sha256'] }, SHA384, {}],
    ['algorithm', 403, { algorithms: ['sha256', 'sha384'] }, SHA384, {}],
    ['scheme', 403, { schemes: ['ecdsa-raw'] }, {}, { scheme: 'ecdsa-raw' }],
    ['format', 403, { formats: ['jws'] }, {}, { format: 'jws' }],
    [
      'file-name',
      403,
      { fileNames: ['app-*.zip', '*.msi'] },
      { metadata: { filename: 'app.exe' } },
      { metadata: { filename: 'a/b.msi' } },
    ],
    ['file-name', 403, { fileNames: ['*'] }, { metadata: { filename: 1 } }, { metadata: { filename: 'x' } }],
    ['caller', 403, { callers: ['01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'] }, {}, undefined],
    ['timestamp', 403, { timestamp: 'required' }, {}, undefined],
    ['hours', 409, { hours: NEVER }, {}, undefined],
    ['quota', 409, { perDay: 1 }, undefined, {}],
    ['lifetime', 409, { lifetime: 1 }, undefined, {}],
  ] as const)('%s: %i', async (name, status, constraints, wrong, right) => {
    const key = await newKey(constraints);
    const before = await asked(key); // includes the test signature made when the key was created
    const allowed = right === undefined ? [] : [(await ask(key, right)).status];
    const signed = await asked(key);
    expect({ allowed, signed: signed - before }).toEqual(
      right === undefined ? { allowed: [], signed: 0 } : { allowed: [200], signed: 1 },
    );
    const refused = await ask(key, wrong);
    expect(refused).toMatchObject({ status, body: { code: `key-policy.${name}` } });
    expect(await refusalsOf(refused.headers.get('x-request-id'), `key-policy.${name}`)).toBe(1);
    expect(await asked(key)).toBe(signed);
  });

  it('except for API keys of a person listed by ID', async () => {
    const { body } = await service.call('GET', '/api/settings/api-keys', { key: apiKey });
    const key = await newKey({ callers: [body.items[0].id], hours: ALWAYS });
    const another = await newApiKey(service, apiKey, ['sign:digest']);
    const owner = (
      await stage.sql<{ owner_id: string }>(`SELECT owner_id FROM signing_key WHERE id = $1`, [key.id])
    )[0];
    expect((await ask(key, {}, service, another.key)).body).toMatchObject({ code: 'key-policy.caller' });
    expect((await change(key, { constraints: { callers: [owner?.owner_id] } })).status).toBe(200);
    expect((await ask(key, {}, service, another.key)).status).toBe(200);
  });
});

describe('a disabled or inactive key is rejected with the reason and audited, without calling the HSM', () => {
  const post = (path: string, body: object = {}) =>
    service.call('POST', `/api/v1/signing-keys${path}`, { key: apiKey, body });

  async function refused(key: PublishedKey, code: string): Promise<void> {
    const before = await asked(key);
    for (const body of [{}, { async: true }, { format: 'jws' }]) {
      const answer = await ask(key, body);
      expect(answer).toMatchObject({ status: 409, body: { code } });
      expect(await refusalsOf(answer.headers.get('x-request-id'), code)).toBe(1);
    }
    expect(await asked(key)).toBe(before);
  }

  it('until it is enabled again', async () => {
    const key = await newKey({});
    expect((await post(`/${key.id}/disable`)).body).toMatchObject({ state: 'DISABLED' });
    await refused(key, 'signing-key.disabled');
    expect((await post(`/${key.id}/disable`)).status).toBe(200);
    expect((await post(`/${key.id}/enable`)).body).toMatchObject({ state: 'ACTIVE' });
    expect((await ask(key)).status).toBe(200);
  });

  it.each([
    ['its name', (key: PublishedKey) => key.name],
    ['its id', (key: PublishedKey) => key.id],
    ['its id in capitals', (key: PublishedKey) => key.id.toUpperCase()],
  ])('even by a process that caches the key by %s', async (_, spelt) => {
    const key = await newKey({});
    const atOther = () => ask(key, { key: spelt(key) }, other);
    expect((await atOther()).body.key.version).toBe(1);
    await post(`/${key.id}/rotate`, { activate: 'now' });
    expect((await atOther()).body.key.version).toBe(2);
    await post(`/${key.id}/disable`);
    expect(await atOther()).toMatchObject({ status: 409, body: { code: 'signing-key.disabled' } });
    await post(`/${key.id}/enable`);
    expect((await atOther()).status).toBe(200);
  });

  it.each([
    ['its time is over', { notAfter: '2026-01-01T00:00:00Z' }, 'signing-key.expired'],
    ['its time has not come', { notBefore: '2099-01-01T00:00:00Z' }, 'signing-key.not-yet'],
  ])('because %s', async (_, dates, code) => {
    const { body: key } = await post('', { name: code.replace('signing-key.', ''), type: 'ec-p256', ...dates });
    await refused(key, code);
  });

  it('and an empty validity period is rejected immediately', async () => {
    const dates = { notBefore: '2028-01-01T00:00:00Z', notAfter: '2027-01-01T00:00:00Z' };
    const answer = await post('', { name: 'never', type: 'ec-p256', ...dates });
    assertProblem(answer, { status: 400, code: 'signing-key.dates', pointer: '/notAfter' });
  });
});

describe('a key change', () => {
  it('takes effect immediately, even in a process that has just used the key', async () => {
    const key = await newKey({});
    for (const at of [service, other]) expect((await ask(key, {}, at)).status).toBe(200);
    expect(await change(key, { constraints: { formats: ['jws'] } })).toMatchObject({
      status: 200,
      body: { constraints: { formats: ['jws'] } },
    });
    expect((await ask(key, {}, other)).body).toMatchObject({ code: 'key-policy.format' });
    expect((await change(key, { constraints: {} })).body.constraints).toEqual({});
    expect((await ask(key, {}, other)).status).toBe(200);
  });

  it('of the validity takes effect too, and null removes a date', async () => {
    const key = await newKey({});
    expect((await change(key, { notAfter: '2026-01-01T00:00:00Z' })).body.notAfter).toBe('2026-01-01T00:00:00.000Z');
    expect((await ask(key, {}, other)).body).toMatchObject({ code: 'signing-key.expired' });
    expect((await change(key, { notAfter: null })).body.notAfter).toBeUndefined();
    expect((await ask(key, {}, other)).status).toBe(200);
  });

  it('requires the matching revision', async () => {
    const key = await newKey({});
    expect(await change(key, {}, {})).toMatchObject({ status: 428, body: { code: 'request.if-match-missing' } });
    const first = await service.call('GET', `/api/v1/signing-keys/${key.id}`, { key: apiKey });
    const match = { 'if-match': first.headers.get('etag') ?? '' };
    const both = await Promise.all([1, 2].map((perDay) => change(key, { constraints: { perDay } }, match)));
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412]);
  });

  it('after acceptance fails pending requests with the reason, and the HSM is not called', async () => {
    const key = await newKey({});
    const before = await asked(key);
    const { body } = await ask(key, { async: true });
    await change(key, { constraints: { algorithms: ['sha512'] } });
    const worker = await stage.start({ role: 'worker' });
    expect((await read(service, apiKey, body.requestId)).body).toMatchObject({
      status: 'FAILED',
      failure: { code: 'key-policy.algorithm' },
    });
    expect(await asked(key)).toBe(before);
    await worker.kill();
  });

  it.each([
    ['an unknown constraint', { algorithm: ['sha256'] }],
    ['an unknown algorithm', { algorithms: ['md5'] }],
    ['an empty list', { formats: [] }],
    ['an unknown time zone', { hours: { ...ALWAYS, timeZone: 'Mars/Olympus' } }],
    ['hours that end before they begin', { hours: { ...ALWAYS, from: '18:00', until: '08:00' } }],
    ['a quota of nothing', { perDay: 0 }],
  ])('to %s is rejected', async (_, constraints) => {
    const key = await newKey({});
    expect(await change(key, { constraints })).toMatchObject({ status: 400, body: { code: 'request.invalid' } });
  });
});

describe('a signing quota', () => {
  it('is exact with two processes and many callers: not one more, not one less', async () => {
    const key = await newKey({ perDay: 25, lifetime: 40 });
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, i) => ask(key, {}, i % 2 === 0 ? service : other)),
    );
    const codes = answers.map(({ status, body }) => (status === 200 ? 'signed' : body.code));
    expect(codes.filter((code) => code === 'signed')).toHaveLength(25);
    expect(codes.filter((code) => code === 'key-policy.quota')).toHaveLength(55);
    const { body } = await service.call('GET', `/api/v1/signing-keys/${key.id}`, { key: apiKey });
    expect(body.usage).toEqual({ today: 25, lifetime: 25 });
  });

  it('counts a repeated call with the same Idempotency-Key once', async () => {
    const key = await newKey({ perDay: 2 });
    const body = { digest: fresh(), key: key.name };
    const headers = { 'idempotency-key': 'once' };
    for (let i = 0; i < 3; i += 1) expect((await sign(service, { key: apiKey, body, headers })).status).toBe(200);
    expect((await ask(key)).status).toBe(200);
    expect((await ask(key)).status).toBe(409);
    expect((await sign(service, { key: apiKey, body, headers })).status).toBe(200);
    // A call with a new Idempotency-Key is refused based on cached state, without a transaction that would delay other callers.
    await stage.sql(`UPDATE signing_key_usage SET used = 0 WHERE key_id = $1`, [key.id]);
    const anew = { key: apiKey, body: { ...body, digest: fresh() }, headers: { 'idempotency-key': 'anew' } };
    expect(await sign(service, anew)).toMatchObject({ status: 409, body: { code: 'key-policy.quota' } });
  });

  it('added later includes earlier signatures', async () => {
    const key = await newKey({});
    for (let i = 0; i < 3; i += 1) await ask(key);
    expect((await change(key, { constraints: { lifetime: 4 } })).body.usage).toEqual({ lifetime: 3 });
    expect((await ask(key)).status).toBe(200);
    expect((await ask(key)).body).toMatchObject({ code: 'key-policy.lifetime' });
  });

  it('does not prevent a certificate signing request', async () => {
    const key = await newKey({ lifetime: 1, formats: ['jws'] });
    const csr = await service.call('POST', `/api/v1/signing-keys/${key.id}/csr`, {
      key: apiKey,
      body: { subject: { commonName: 'constrained' } },
    });
    expect(csr.status).toBe(201);
  });
});
