import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { Authority } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, CallOptions, Service } from '../support/service.js';
import { createKey, type PublishedKey } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;
let release: PublishedKey;

const KEYS = '/api/v1/signing-keys';

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  authority = new Authority();
  release = await certifiedKey(service, apiKey, authority, {
    name: 'team_a',
    type: 'ec-p256',
    purpose: 'code-signing',
  });
  await createKey(service, apiKey, { name: 'team.a', type: 'ec-p384' });
  await createKey(service, apiKey, { name: 'team_a-2', type: 'ec-p256', purpose: 'timestamping' });
  await service.call('POST', `${KEYS}/team.a/disable`, { key: apiKey });
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const get = (path: string, query: Record<string, string> = {}, key = apiKey): Promise<Answer> =>
  service.call('GET', `${path}?${new URLSearchParams(query).toString()}`, { key });

async function names(query: Record<string, string>): Promise<string[]> {
  const { status, body } = await get(KEYS, query);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body.items as { name: string }[]).map(({ name }) => name);
}

describe('signing keys are found', () => {
  it.each([
    [{ name: 'team_a' }, ['team_a']],
    [{ name: 'team_a*' }, ['team_a-2', 'team_a']],
    [{ name: 'team*' }, ['team_a-2', 'team.a', 'team_a']],
    [{ name: 'team%' }, []],
    [{ name: 'te*a' }, []],
    [{ name: 'TEAM_A' }, []],
    [{ name: 'team*', state: 'DISABLED' }, ['team.a']],
    [{ name: 'team*', purpose: 'timestamping' }, ['team_a-2']],
    [{ name: 'team*', type: 'ec-p384' }, ['team.a']],
    [{ name: 'team*', type: 'ec-p384', state: 'ACTIVE' }, []],
  ])('with %j', async (query, expected) => {
    expect(await names(query as Record<string, string>)).toEqual(expected);
  });

  it('page by page, and the cursor of another filter is rejected', async () => {
    const { body: first } = await get(KEYS, { name: 'team*', limit: '2' });
    const cursor = first.nextCursor as string;
    expect(await names({ name: 'team*', cursor })).toEqual(['team_a']);
    for (const query of [{ cursor }, { name: 'team_*', cursor }, { name: 'team*', state: 'ACTIVE', cursor }])
      assertProblem(await get(KEYS, query as Record<string, string>), { status: 400, code: 'request.cursor' });
  });

  it.each([
    [{ state: 'SLEEPING' }, '/state'],
    [{ purpose: 'anything' }, '/purpose'],
    [{ type: 'rsa' }, '/type'],
    [{ names: 'team_a' }, '/names'],
  ])('only with known values: %j', async (query, pointer) => {
    assertProblem(await get(KEYS, query), { status: 400, code: 'request.invalid', pointer });
  });
});

describe('a path of a signing key', () => {
  const call = (method: string, path: string, options: CallOptions = {}) =>
    service.call(method, `${KEYS}/${path}`, { key: apiKey, ...options });

  it('accepts the name: get, versions, change, rotate, disable, enable, schedule and cancel destruction', async () => {
    const name = `named-${randomUUID()}`;
    const { id } = await createKey(service, apiKey, { name, type: 'ec-p256' });
    expect((await call('GET', name)).body).toMatchObject({ id, name, version: 1 });
    const body = { notAfter: '2099-01-01T00:00:00Z' };
    const { headers } = await call('GET', name);
    const match = { 'if-match': headers.get('etag') ?? '' };
    expect((await call('PATCH', name, { body, headers: match })).body).toMatchObject({
      id,
      notAfter: '2099-01-01T00:00:00.000Z',
    });
    expect((await call('PATCH', name, { body, headers: match })).status).toBe(412);
    expect((await call('POST', `${name}/rotate`, { body: {} })).body).toMatchObject({ id, version: 2 });
    expect((await call('GET', `${name}/versions`)).body.items).toHaveLength(2);
    expect((await call('POST', `${name}/disable`)).body).toMatchObject({ id, state: 'DISABLED' });
    expect((await call('POST', `${name}/enable`)).body).toMatchObject({ id, state: 'ACTIVE' });
    expect((await call('POST', `${name}/destruction`, { body: { days: 7 } })).body).toMatchObject({
      id,
      state: 'PENDING_DESTRUCTION',
    });
    expect((await call('DELETE', `${name}/destruction`)).body).toMatchObject({ id, state: 'DISABLED' });
  });

  it('never takes a UUID for a name', async () => {
    const name = randomUUID();
    const { id } = await createKey(service, apiKey, { name, type: 'ec-p256' });
    assertProblem(await call('GET', name), { status: 404, code: 'signing-key.missing' });
    expect((await call('GET', id.toUpperCase())).body).toMatchObject({ id, name });
  });

  it.each([
    'no-such-key',
    'Team_a',
    'team%25',
    'team*',
    '%00',
    'team_a%20',
    `'--`,
    'team_a%2Fversions',
    'team_a%ED%A0%80',
  ])('returns not found for %s', async (name) => {
    const { status, body } = await call('GET', name);
    expect(status === 400 ? [404, 'signing-key.missing'] : [status, body.code]).toEqual([404, 'signing-key.missing']);
  });

  it('answers a caller without the permission alike, whether the key exists or not', async () => {
    const { key } = await newApiKey(service, apiKey, ['sign:read']);
    for (const name of ['team_a', 'no-such-key', release.id, randomUUID()])
      assertProblem(await call('GET', name, { key }), { status: 403, code: 'insufficient_scope' });
  });

  it('returns the key that has the name of a key that could not be generated', async () => {
    const name = `again-${randomUUID()}`;
    const { id } = await createKey(service, apiKey, { name, type: 'ec-p256' });
    await stage.sql(
      `INSERT INTO signing_key (id, name, type, purpose, state, version, owner_id)
       SELECT '00000000-0000-7000-8000-000000000001', name, type, purpose, 'FAILED', version, owner_id FROM signing_key WHERE id = $1`,
      [id],
    );
    expect((await call('GET', name)).body).toMatchObject({ id });
    await stage.sql(`DELETE FROM signing_key WHERE state = 'FAILED'`);
  });
});

describe('certificates are found', () => {
  const DAY_MS = 24 * 3600 * 1000;
  const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
  const subjects = async (query: Record<string, string>) => {
    const { status, body } = await get('/api/v1/certificates', query);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return (body.items as { subject: string }[]).map(({ subject }) => subject);
  };
  const OWN = 'CN=team_a, O=Example Ltd';

  beforeAll(async () => {
    const body = { chain: readFileSync(authority.root, 'utf8') };
    await service.call('POST', '/api/v1/certificates', { key: apiKey, body });
  });

  it.each([
    [{ key: 'team_a' }, [OWN]],
    [{ key: 'team.a' }, []],
    [{ subject: 'example ltd' }, [OWN]],
    [{ subject: 'team%a' }, []],
    [{ subject: 'teamxa' }, []],
    [{ subject: '_' }, [OWN]],
    [{ expiresBefore: inDays(365), subject: 'test root' }, ['CN=Test Root']],
    [{ expiresAfter: inDays(365) }, []],
    [{ expiresAfter: inDays(0), expiresBefore: inDays(365), key: 'team_a' }, [OWN]],
    [{ expiresBefore: inDays(1) }, []],
  ])('with %j', async (query, expected) => {
    expect(await subjects(query as Record<string, string>)).toEqual(expected);
  });

  it('by the ID of the key, and a bound at the exact time of expiry is exclusive above and inclusive below', async () => {
    const { body } = await get('/api/v1/certificates', { key: release.id });
    const [{ notAfter }] = body.items as [{ notAfter: string }];
    expect(await subjects({ key: release.id, expiresAfter: notAfter })).toEqual([OWN]);
    expect(await subjects({ key: release.id, expiresBefore: notAfter })).toEqual([]);
  });

  it('that expire in the current month', async () => {
    const set = (at: string) => stage.sql(`UPDATE certificate SET not_after = ${at} WHERE key_id = '${release.id}'`);
    const [{ was } = { was: new Date() }] = await stage.sql<{ was: Date }>(
      `SELECT not_after AS was FROM certificate WHERE key_id = '${release.id}'`,
    );
    const first = `date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`;
    const next = `(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'`;
    const query = { key: 'team_a', expires: 'this-month' };
    await set(first);
    expect(await subjects(query)).toEqual([OWN]);
    await set(`${first} - interval '1 second'`);
    expect(await subjects(query)).toEqual([]);
    await set(`${next} - interval '1 second'`);
    expect(await subjects(query)).toEqual([OWN]);
    await set(next);
    expect(await subjects(query)).toEqual([]);
    await set(`'${was.toISOString()}'`);
  });

  it('only with known values', async () => {
    const list = '/api/v1/certificates';
    assertProblem(await get(list, { key: 'no-such-key' }), {
      status: 422,
      code: 'signing-key.unknown',
      pointer: '/key',
    });
    assertProblem(await get(list, { expires: 'soon' }), { status: 400, code: 'request.invalid', pointer: '/expires' });
    assertProblem(await get(list, { expiresBefore: '30' }), {
      status: 400,
      code: 'request.invalid',
      pointer: '/expiresBefore',
    });
  });
});
