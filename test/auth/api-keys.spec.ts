import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inDays, newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const PATH = '/api/settings/api-keys';

let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  [service, other] = await Promise.all([stage.start({ role: 'api' }), stage.start({ role: 'api' })]);
});
afterAll(() => stage.close());

const create = (body: object, key = apiKey): Promise<Answer> => service.call('POST', PATH, { key, body });
const me = (at: Service, key: string): Promise<Answer> => at.call('GET', '/api/auth/me', { key });

describe('an API key', () => {
  it('is returned once, and no list contains it', async () => {
    const { status, headers, body } = await create({
      name: 'pipeline',
      permissions: ['sign:read'],
      expiry: inDays(30),
    });
    expect(status).toBe(201);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body.key).toMatch(/^sw_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
    const { key, ...rest } = body;
    const list = await service.call('GET', PATH, { key: apiKey });
    expect(list.body.items[0]).toEqual(rest);
    expect(JSON.stringify(list.body)).not.toContain(key.slice(-20));
  });

  it('is stored in the database as a hash only', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:read']);
    const [, lookup = '', rest = ''] = key.split('_');
    const secret = rest.slice(0, 32);
    const [row] = await stage.sql<Record<string, unknown>>(`SELECT * FROM api_key WHERE id = $1`, [id]);
    expect(row).toMatchObject({ lookup, secret_hash: createHash('sha256').update(secret).digest() });
    const [dump] = await stage.sql<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM api_key t WHERE t::text LIKE '%' || $1 || '%')
           OR EXISTS (SELECT FROM audit_entry t WHERE t::text LIKE '%' || $1 || '%')
           OR EXISTS (SELECT FROM idempotency_key t WHERE t::text LIKE '%' || $1 || '%') AS found`,
      [secret],
    );
    expect(dump?.found).toBe(false);
  });

  it('returns its identity and scopes at /me', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:digest', 'sign:read']);
    expect((await me(service, key)).body).toMatchObject({ kind: 'api-key', id, scopes: ['sign:digest', 'sign:read'] });
  });

  it('cannot grant more than it holds', async () => {
    const { key } = await newApiKey(service, apiKey, ['settings:write', 'sign:read']);
    const order = { name: 'more', expiry: inDays(1) };
    const beyond = await create({ ...order, permissions: ['sign:read', 'sign:digest', 'admin:*'] }, key);
    expect(beyond.body).toMatchObject({ status: 403, code: 'api-key.beyond-caller' });
    expect(beyond.body.detail).toContain('sign:digest, admin:*');
    expect((await create({ ...order, permissions: ['sign:read'] }, key)).status).toBe(201);
  });

  it('cannot have the voting scope, which only people have', async () => {
    const answer = await create({ name: 'voter', expiry: inDays(1), permissions: ['sign:read', 'approvals:approve'] });
    expect(answer.body).toMatchObject({ status: 422, code: 'api-key.person-needed' });
    expect(answer.body.errors[0].pointer).toBe('/permissions');
  });

  it('records its last use and source address', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:read']);
    const before = new Date().toISOString();
    await me(service, key);
    const used = await until('its last use is stored', 30, async () => {
      const { body } = await service.call('GET', PATH, { key: apiKey });
      const item = body.items.find((candidate: { id: string }) => candidate.id === id);
      return item.lastUsedAt !== null && item;
    });
    expect(used.lastUsedFrom).toBe('127.0.0.1');
    expect(used.lastUsedAt >= before).toBe(true);
  });

  it('that is revoked is rejected immediately, and within five seconds by other processes', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:read']);
    expect((await me(service, key)).status).toBe(200);
    expect((await me(other, key)).status).toBe(200);
    expect((await service.call('DELETE', `${PATH}/${id}`, { key: apiKey })).status).toBe(204);
    expect((await me(service, key)).body.code).toBe('auth.revoked-key');
    const answer = await until('the other process refuses it', 5, async () => {
      const { status, body } = await me(other, key);
      return status === 401 && body;
    });
    expect(answer.code).toBe('auth.revoked-key');
    expect((await service.call('DELETE', `${PATH}/${id}`, { key: apiKey })).status).toBe(204);
  });

  it('that does not exist cannot be revoked', async () => {
    const { status, body } = await service.call('DELETE', `${PATH}/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11`, {
      key: apiKey,
    });
    expect([status, body.code]).toEqual([404, 'api-key.missing']);
  });
});

describe('creating an API key is rejected', () => {
  const GOOD = { name: 'pipeline', permissions: ['sign:read'], expiry: inDays(1) };

  it.each<[string, object, number, string]>([
    ['an expiry in the past', { expiry: inDays(-1) }, 422, 'api-key.expiry'],
    ['an expiry more than 366 days away', { expiry: inDays(367) }, 422, 'api-key.expiry'],
    ['an expiry that is no time', { expiry: 'tomorrow' }, 400, 'request.invalid'],
    ['no expiry', { expiry: undefined }, 400, 'request.invalid'],
    ['no permission', { permissions: [] }, 400, 'request.invalid'],
    ['an unknown permission', { permissions: ['sign:everything'] }, 400, 'request.invalid'],
    ['a permission twice', { permissions: ['sign:read', 'sign:read'] }, 400, 'request.invalid'],
    ['permissions as a text', { permissions: 'sign:read' }, 400, 'request.invalid'],
    ['no name', { name: '' }, 400, 'request.invalid'],
    ['an owner', { ownerId: 'somebody' }, 400, 'request.invalid'],
  ])('%s', async (_, change, status, code) => {
    const count = () => stage.sql(`SELECT count(*) FROM api_key`);
    const before = await count();
    const answer = await create({ ...GOOD, ...change });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await count()).toEqual(before);
  });

  it('but not with an expiry just within the limit', async () => {
    expect((await create({ ...GOOD, expiry: inDays(365.9) })).status).toBe(201);
  });
});
