import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessToken, inDays, newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { digestOf, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let seeded: { apiKey: string; adminEmail: string; adminPassword: string };
let apiKey: string;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  seeded = await stage.seed();
  ({ apiKey } = seeded);
  // Uses the most verbose log level, because the last test searches the log for secrets.
  service = await stage.start({ settings: { SVC_LOG_LEVEL: 'debug' } });
});
afterAll(() => stage.close());

interface Entry {
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
  readonly target: string;
}

interface Listed {
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly actor: { readonly id: string };
}

const entriesOf = (correlation: string): Promise<Entry[]> =>
  stage.sql<Entry>(
    `SELECT action, outcome, actor_kind AS actor, target_kind AS target FROM audit_entry WHERE correlation = $1 ORDER BY id`,
    [correlation],
  );

const freshDigest = (): string => digestOf(randomUUID());

describe('an entry for every change has the X-Request-Id of its caller', () => {
  const call = (method: string, path: string, id: string, body?: unknown) =>
    service.call(method, path, { key: apiKey, body, headers: { 'x-request-id': id } });

  it('for synchronous signing', async () => {
    const id = randomUUID();
    const { headers } = await call('POST', '/api/v1/sign/digest', id, { digest: freshDigest() });
    expect(headers.get('x-request-id')).toBe(id);
    expect(await entriesOf(id)).toEqual([
      { action: 'signing.accepted', outcome: 'done', actor: 'api-key', target: 'signing-request' },
      { action: 'signing.signed', outcome: 'done', actor: 'system', target: 'signing-request' },
    ]);
  });

  it('for background signing, in every state of the request', async () => {
    const id = randomUUID();
    const { body } = await call('POST', '/api/v1/sign/digest', id, { digest: freshDigest(), async: true });
    await read(service, apiKey, body.requestId);
    const moves = await stage.sql(
      `SELECT action, detail ->> 'from' AS "from", detail ->> 'to' AS "to", target_id AS id
       FROM audit_entry WHERE correlation = $1 ORDER BY id`,
      [id],
    );
    expect(moves).toEqual([
      { action: 'signing.accepted', from: null, to: 'QUEUED', id: body.requestId },
      { action: 'signing.claimed', from: 'QUEUED', to: 'PROCESSING', id: body.requestId },
      { action: 'signing.signed', from: 'PROCESSING', to: 'SIGNED', id: body.requestId },
    ]);
  });

  it('for a signing failure', async () => {
    const id = randomUUID();
    const digest = freshDigest();
    // CKR_DATA_INVALID
    stage.shim?.fault(`err 0x20 1 only ${Buffer.from(digest, 'base64').toString('hex')}`);
    expect((await call('POST', '/api/v1/sign/digest', id, { digest })).status).toBe(422);
    const actions = (await entriesOf(id)).map(({ action, outcome }) => `${action} ${outcome}`);
    expect(actions).toEqual(['signing.accepted done', 'signing.failed failed', 'request.refused refused']);
  });

  it('for key generation', async () => {
    const id = randomUUID();
    expect((await call('POST', '/api/v1/signing-keys', id, { name: 'audited', type: 'ec-p256' })).status).toBe(201);
    expect((await entriesOf(id)).map(({ action }) => action)).toEqual([
      'signing-key.requested',
      'signing-key.generated',
    ]);
  });

  it('for creating and revoking an API key', async () => {
    const ids = [randomUUID(), randomUUID()] as const;
    const order = { name: 'audited', permissions: ['sign:read'], expiry: inDays(1) };
    const { body } = await call('POST', '/api/settings/api-keys', ids[0], order);
    await call('DELETE', `/api/settings/api-keys/${body.id}`, ids[1]);
    await call('DELETE', `/api/settings/api-keys/${body.id}`, ids[1]); // revoking the key again has no effect
    expect((await entriesOf(ids[0])).map(({ action }) => action)).toEqual(['api-key.created']);
    expect((await entriesOf(ids[1])).map(({ action }) => action)).toEqual(['api-key.revoked']);
  });

  it('for a sign-in, and for a refused one', async () => {
    const ids = [randomUUID(), randomUUID()] as const;
    const login = (password: string, id: string) =>
      service.call('POST', '/api/auth/login', {
        body: { email: seeded.adminEmail, password },
        headers: { 'x-request-id': id },
      });
    await login(seeded.adminPassword, ids[0]);
    await login('wrong-password', ids[1]);
    expect((await entriesOf(ids[0])).map(({ action }) => action)).toEqual(['auth.signed-in']);
    expect(await entriesOf(ids[1])).toMatchObject([{ action: 'auth.sign-in-failed', outcome: 'refused' }]);
  });

  it.each(['short', 'a b c d e f', 'x'.repeat(65), '<script>alert(1)</script>'])(
    'unless the X-Request-Id could corrupt a log, in which case it is replaced: %s',
    async (given) => {
      const { headers, status } = await call('GET', '/api/auth/me', given);
      expect(status).toBe(200);
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});

describe('audit entries', () => {
  it.each(['UPDATE audit_entry SET actor_name = $$nobody$$', 'DELETE FROM audit_entry', 'TRUNCATE audit_entry'])(
    'are immutable, even for the owner of the table: %s',
    async (text) => {
      await expect(stage.sql(text)).rejects.toThrow('audit entries are final');
    },
  );

  it('are listed newest first, paginated, for authorized callers', async () => {
    const { body } = await service.call('GET', '/api/v1/audit/entries?limit=2', { key: apiKey });
    expect(body.items).toHaveLength(2);
    expect(body.items[0].id > body.items[1].id).toBe(true);
    const next = await service.call('GET', `/api/v1/audit/entries?limit=2&cursor=${body.nextCursor}`, { key: apiKey });
    expect(next.body.items[0].id < body.items[1].id).toBe(true);
    const { key } = await newApiKey(service, apiKey, ['sign:read']);
    expect((await service.call('GET', '/api/v1/audit/entries', { key })).body).toMatchObject({ scope: 'audit:read' });
  });

  it('are filtered by action, actor, outcome, target and time, paginated', async () => {
    const find = async (query: Record<string, string>) => {
      const { status, body } = await service.call(
        'GET',
        `/api/v1/audit/entries?${new URLSearchParams(query).toString()}`,
        {
          key: apiKey,
        },
      );
      return { status, body, items: (body.items ?? []) as Listed[] };
    };
    const { body: signed } = await sign(service, { key: apiKey, body: { digest: freshDigest() } });
    const { items: about } = await find({ target: signed.requestId, action: 'signing.accepted' });
    const [accepted] = about as [Listed];
    const ids = async (query: Record<string, string>) => (await find(query)).items.map(({ id }) => id);
    expect(await ids({ actor: accepted.actor.id, action: 'signing.*', outcome: 'done' })).toContain(accepted.id);
    expect(await ids({ actor: accepted.actor.id, outcome: 'refused' })).not.toContain(accepted.id);
    const next = new Date(Date.parse(accepted.at) + 1).toISOString();
    const span = { target: signed.requestId, from: accepted.at, to: next };
    expect(await ids(span)).toContain(accepted.id);
    expect(await ids({ ...span, to: accepted.at, from: '2020-01-01' })).not.toContain(accepted.id);
    const refused = await find({ outcome: 'refused', action: 'request.*' });
    expect(new Set(refused.items.map(({ action }) => action))).toEqual(new Set(['request.refused']));
    // Reading the list in small pages returns the same entries.
    const query = { action: 'signing.*', limit: '3' };
    const pages = [await find(query)];
    for (let page = pages[0]; page?.body.nextCursor !== null && pages.length < 4; pages.push(page))
      page = await find({ ...query, cursor: page?.body.nextCursor });
    const whole = await ids({ action: 'signing.*', limit: '12' });
    expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(whole);
    expect(await find({ ...query, action: 'signing.signed', cursor: pages[0]?.body.nextCursor })).toMatchObject({
      status: 400,
      body: { code: 'request.cursor' },
    });
  });

  it.each([
    ['action', 'signing*'],
    ['action', "x' OR true"],
    ['actor', '\u0000'],
    ['actor', 'x'.repeat(101)],
    ['outcome', 'good'],
    ['target', ''],
    ['from', 'yesterday'],
    ['to', '1990-01-01'],
    ['colour', 'red'],
  ])('reject the filter %s %j', async (name, value) => {
    const query = new URLSearchParams({ ...(name === 'to' ? { from: '2020-01-01' } : {}), [name]: value });
    const answer = await service.call('GET', `/api/v1/audit/entries?${query.toString()}`, { key: apiKey });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: `/${name}` }] } });
  });

  it('of a refused call are found by the requestId of the problem', async () => {
    const refused = await service.call('POST', '/api/v1/sign/digest', { key: apiKey, body: { digest: 'x' } });
    const path = `/api/v1/audit/entries?correlation=${refused.body.requestId}`;
    const { body } = await service.call('GET', path, { key: apiKey });
    expect(
      body.items.map(({ action, outcome, correlation }: Answer['body']) => [action, outcome, correlation]),
    ).toEqual([['request.refused', 'refused', refused.body.requestId]]);
  });

  it('show actor, action, target, time and source', async () => {
    const { body } = await sign(service, { key: apiKey, body: { digest: freshDigest() } });
    const list = await service.call('GET', `/api/v1/audit/entries?target=${body.requestId}`, { key: apiKey });
    expect(list.body.items.at(-1)).toMatchObject({
      action: 'signing.accepted',
      outcome: 'done',
      actor: { kind: 'api-key', name: 'demo' },
      target: { kind: 'signing-request', id: body.requestId },
      source: '127.0.0.1',
      detail: { key: 'default', algorithm: 'sha256', digest: body.digest },
    });
  });
});

it('no log contains secrets: API key, password, PIN, access token', async () => {
  const { apiKey: key, adminEmail, adminPassword } = seeded;
  const token = await accessToken(service, adminEmail, adminPassword);
  await service.call('GET', '/api/auth/me', { key: token });
  await service.call('GET', `/api/auth/me?token=${token}&key=${key}`, { key: 'wrong' });
  await service.call('GET', `/api/v1/sign/requests/${key}`, { key: token });
  await service.call('POST', '/api/v1/sign/digest', { key, body: { digest: token, reference: adminPassword } });
  await service.call('POST', '/api/auth/login', {
    body: { email: adminEmail, password: adminPassword, more: adminPassword },
  });
  await service.kill();
  const pin = readFileSync(stage.token.pinFile, 'utf8').trim();
  const passwords = [stage.redis.url, stage.databaseUrl].map((url) => new URL(url).password);
  const logs = service.log();
  expect(logs).toContain('/api/auth/me');
  for (const secret of [key, adminPassword, pin, token, ...passwords]) {
    expect(secret.length).toBeGreaterThan(4);
    expect(logs.includes(secret)).toBe(false);
  }
});
