import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { createKey, until } from '../support/signing.js';
import { BEYOND, CLIENTS, KEYS, LimitedCredentials, orderOf, OTHER, REFUSAL } from './limited-credentials.js';
import { type Client, makeClient, postForm } from './oauth-calls.js';

let place: LimitedCredentials;
/** A second process with separate caches. */
let second: Service;

beforeAll(async () => {
  place = await LimitedCredentials.open();
  second = await place.stage.start({ role: 'api' });
});
afterAll(() => place.stage.close());

const entriesAbout = async (id: string) => {
  const { body } = await place.call('GET', `/api/v1/audit/entries?target=${id}`);
  return body.items as { action: string; detail: Record<string, unknown> }[];
};
const askToken = ({ client_id, client_secret }: Client) =>
  postForm(place.service, '/oauth/token', { grant_type: 'client_credentials', client_id, client_secret });
const newClient = async (signingKeys?: string[]): Promise<Client> => {
  const body = { name: 'limited', permissions: ['sign:digest'], signingKeys };
  return (await place.call('POST', CLIENTS, { body })).body;
};

describe('a change of an API key', () => {
  it('takes effect immediately here, and within five seconds in another process', async () => {
    const { id, key } = await place.limited(['release-*'], ['sign:digest']);
    expect((await place.signWith(key, place.own.name, second)).status).toBe(200);
    const { status, headers, body } = await place.patch(`${KEYS}/${id}`, { keys: [OTHER] });
    expect([status, headers.get('etag'), body.keys, body.version]).toEqual([200, '"2"', [OTHER], 2]);
    assertProblem(await place.signWith(key, place.own.name), REFUSAL);
    expect((await place.signWith(key, OTHER)).status).toBe(200);
    const changedAt = Date.now();
    await until('the other process applies the change', 5, async () => {
      const answer = await place.signWith(key, place.own.name, second);
      return answer.status === 403;
    });
    expect(Date.now() - changedAt).toBeLessThan(5000);
    expect((await place.signWith(key, OTHER, second)).status).toBe(200);
  });

  it('is recorded with the values before and after, and only with the changed members', async () => {
    const { id } = await place.limited(['release-*'], ['sign:digest', 'sign:read']);
    const after = { name: 'renamed', permissions: ['sign:digest'], addresses: ['127.0.0.1'], keys: null };
    expect((await place.patch(`${KEYS}/${id}`, after)).body).toMatchObject(after);
    expect((await place.patch(`${KEYS}/${id}`, { name: 'renamed', keys: ['a'] }, { version: 2 })).status).toBe(200);
    const [last, first, created] = await entriesAbout(id);
    expect(created).toMatchObject({ action: 'api-key.created', detail: { keys: ['release-*'] } });
    const before = { permissions: ['sign:digest', 'sign:read'], addresses: null, keys: ['release-*'] };
    const detail = { before: { name: 'limited', ...before }, after };
    expect(first).toMatchObject({ action: 'api-key.changed', detail });
    expect(last?.detail).toMatchObject({ name: 'renamed', before: { keys: null }, after: { keys: ['a'] } });
    expect(Object.keys(last?.detail['after'] ?? {})).toEqual(['keys']);
  });

  it('requires the current ETag, and increments it only if something changes', async () => {
    const { id } = await place.limited(['release-*'], ['sign:digest']);
    const path = `${KEYS}/${id}`;
    expect((await place.call('GET', path)).headers.get('etag')).toBe('"1"');
    const without = await place.call('PATCH', path, { body: { name: 'x' } });
    assertProblem(without, { status: 428, code: 'request.if-match-missing' });
    const stale = { status: 412, code: 'request.stale' };
    assertProblem(await place.patch(path, { name: 'x' }, { version: 7 }), stale);
    expect((await place.patch(path, { keys: ['release-*'] })).headers.get('etag')).toBe('"1"');
    expect((await entriesAbout(id)).map(({ action }) => action)).toEqual(['api-key.created']);
    const racers = await Promise.all([1, 2, 3].map((n) => place.patch(path, { name: `racer ${n}` })));
    expect(racers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412]);
  });

  it('cannot add permissions, and requires the permissions of the key to lift a limit', async () => {
    const { id } = await place.limited(['release-*'], ['sign:digest']);
    const path = `${KEYS}/${id}`;
    const more = await place.patch(path, { permissions: ['sign:digest', 'sign:read'] });
    assertProblem(more, { status: 422, code: 'api-key.more-permissions', pointer: '/permissions' });
    const { key: by } = await newApiKey(place.service, place.apiKey, ['settings:write']);
    assertProblem(await place.patch(path, { keys: null }, { by }), BEYOND);
    expect((await place.patch(path, { keys: ['release-a'] }, { by })).status).toBe(200);
  });

  it('is refused if the key is revoked or unknown', async () => {
    const { id } = await place.limited(undefined, ['sign:read']);
    await place.call('DELETE', `${KEYS}/${id}`);
    assertProblem(await place.patch(`${KEYS}/${id}`, { keys: ['a'] }), { status: 409, code: 'api-key.over' });
    const unknown = `${KEYS}/${place.other.id}`;
    assertProblem(await place.call('GET', unknown), { status: 404, code: 'api-key.missing' });
    assertProblem(await place.patch(unknown, { keys: ['a'] }), { status: 404, code: 'api-key.missing' });
  });

  it.each([[[]], [['Release']], [['rel\u0435ase']], ['release-*'], [['a', 'a']], [[null]]])(
    'rejects %j as signing keys, as does the creation of a key',
    async (keys) => {
      const { id } = await place.limited(['a'], ['sign:read']);
      const invalid = { status: 400, code: 'request.invalid' };
      assertProblem(await place.patch(`${KEYS}/${id}`, { keys }), invalid);
      assertProblem(await place.call('POST', KEYS, { body: orderOf(['sign:read'], { keys }) }), invalid);
    },
  );
});

describe('an OAuth client', () => {
  it('limits its tokens to its current signing keys, not to those when the token was issued', async () => {
    const client = await newClient(['release-*']);
    const path = `${CLIENTS}/${client.client_id}`;
    const token: string = (await askToken(client)).body.access_token;
    expect((await place.signWith(token, place.own.name)).status).toBe(200);
    assertProblem(await place.signWith(token, OTHER), REFUSAL);
    const { body } = await place.patch(path, { signingKeys: [OTHER] });
    expect(body).toMatchObject({ signingKeys: [OTHER], version: 2 });
    for (const at of [place.service, second])
      await until('the change applies to the token', 5, async () => {
        const answer = await place.signWith(token, place.own.name, at);
        return answer.status === 403;
      });
    expect((await place.signWith(token, OTHER, second)).status).toBe(200);
    const [entry] = await entriesAbout(client.client_id);
    const detail = { before: { signingKeys: ['release-*'] }, after: { signingKeys: [OTHER] } };
    expect(entry).toMatchObject({ action: 'oauth-client.changed', detail });
  });

  it('keeps its limits when its secret is replaced', async () => {
    const client = await newClient(['release-*']);
    const { body } = await place.call('POST', `${CLIENTS}/${client.client_id}/secret`);
    expect(body.signingKeys).toEqual(['release-*']);
    const token: string = (await askToken(body)).body.access_token;
    assertProblem(await place.signWith(token, OTHER), REFUSAL);
    expect((await place.signWith(token, place.own.name)).status).toBe(200);
  });

  it('can be read and changed with its ETag until it is revoked', async () => {
    const client = await newClient();
    const path = `${CLIENTS}/${client.client_id}`;
    const { headers, body } = await place.call('GET', path);
    expect([headers.get('etag'), body.signingKeys, body.client_secret]).toEqual(['"1"', null, undefined]);
    assertProblem(await place.patch(path, { name: 'x' }, { version: 2 }), { status: 412, code: 'request.stale' });
    expect((await place.patch(path, { name: 'renamed' })).body).toMatchObject({ name: 'renamed', version: 2 });
    const more = await place.patch(path, { permissions: ['sign:read'] }, { version: 2 });
    assertProblem(more, { status: 422, code: 'oauth-client.more-permissions' });
    await place.call('DELETE', path);
    const over = { status: 409, code: 'oauth-client.over' };
    assertProblem(await place.patch(path, { name: 'y' }, { version: 2 }), over);
  });

  it('cannot have the voting scope for itself, but can have it for people', async () => {
    const voter = { name: 'voter', permissions: ['approvals:approve'] };
    const answer = await place.call('POST', CLIENTS, { body: voter });
    assertProblem(answer, { status: 422, code: 'oauth-client.person-needed' });
    expect(answer.body.detail).toContain('"public"');
    const forPeople = await place.call('POST', CLIENTS, { body: { ...voter, type: 'public' } });
    expect(forPeople.body.withoutEffect).toEqual([]);
  });
});

it('credentials of an earlier version keep the voting scope, which is shown to be without effect', async () => {
  const { id } = await place.limited(undefined, ['sign:read']);
  const { client_id } = await makeClient(place.service, place.apiKey, ['sign:read']);
  const scopes = `'{sign:read,approvals:approve}'`;
  await place.stage.change(`UPDATE api_key SET permissions = ${scopes} WHERE id = $1`, [id]);
  await place.stage.change(`UPDATE oauth_client SET permissions = ${scopes} WHERE id = $1`, [client_id]);
  for (const path of [`${KEYS}/${id}`, `${CLIENTS}/${client_id}`]) {
    expect((await place.call('GET', path)).body.withoutEffect).toEqual(['approvals:approve']);
    const { body } = await place.patch(path, { permissions: ['sign:read'] });
    expect([body.permissions, body.withoutEffect]).toEqual([['sign:read'], []]);
  }
});

describe('the database owner', () => {
  const isRefused = async (key: string) => (await place.call('GET', '/api/auth/me', { by: key })).status === 401;

  it.each(['NULL', `'{*}'`, `'{release-*,default}'`])(
    'cannot change the signing keys of an API key to %s',
    async (value) => {
      const { id, key } = await place.limited(['release-*'], ['sign:digest']);
      await place.stage.sql(`UPDATE api_key SET signing_keys = ${value} WHERE id = $1`, [id]);
      await until('the row is refused', 5, () => isRefused(key));
      const changed = await place.patch(`${KEYS}/${id}`, { name: 'x' });
      assertProblem(changed, { status: 409, code: 'row.not-sealed' });
    },
  );

  it('cannot change the signing keys of a client', async () => {
    const client = await newClient(['release-*']);
    expect((await askToken(client)).status).toBe(200);
    await place.stage.sql(`UPDATE oauth_client SET signing_keys = NULL WHERE id = $1`, [client.client_id]);
    expect((await askToken(client)).status).toBe(401);
  });

  it.each(['api_key', 'oauth_client'])('cannot restore an earlier row of %s with its seal', async (table) => {
    const { id: keyId, key } = await place.limited(undefined, ['sign:digest']);
    const client = await newClient();
    const isKey = table === 'api_key';
    const id = isKey ? keyId : client.client_id;
    const [row] = await place.stage.sql<{ seal: Buffer }>(`SELECT seal FROM ${table} WHERE id = $1`, [id]);
    const [path, change] = isKey ? [KEYS, { keys: ['release-*'] }] : [CLIENTS, { signingKeys: ['release-*'] }];
    expect((await place.patch(`${path}/${id}`, change)).status).toBe(200);
    const restored = `signing_keys = NULL, revision = NULL, seal = $2`;
    await place.stage.sql(`UPDATE ${table} SET ${restored} WHERE id = $1`, [id, row?.seal]);
    const isOver = async () => (isKey ? isRefused(key) : (await askToken(client)).status === 401);
    await until('the earlier row is refused', 20, isOver);
  });
});

it('a row without limits has no value that the previous version does not know, and allows every key', async () => {
  const { id, key } = await newApiKey(place.service, place.apiKey, ['sign:digest']);
  const rows = await place.stage.sql(`SELECT signing_keys, revision FROM api_key WHERE id = $1`, [id]);
  expect(rows).toEqual([{ signing_keys: null, revision: null }]);
  expect((await place.signWith(key, OTHER)).status).toBe(200);
});

it('a limit keeps the name of a destroyed key, which no other key can have', async () => {
  const order = { name: 'short-lived', type: 'ec-p256' };
  const { id } = await createKey(place.service, place.apiKey, order);
  const { key } = await place.limited([order.name], ['sign:digest']);
  expect((await place.signWith(key, order.name)).status).toBe(200);
  await place.stage.change(`UPDATE signing_key SET state = 'DESTROYED' WHERE id = $1`, [id]);
  const refused = await until('the key is read again', 5, async () => {
    const answer = await place.signWith(key, order.name);
    return answer.status !== 200 && answer;
  });
  assertProblem(refused, { status: 409, code: 'signing-key.destroyed' });
  const again = await place.call('POST', '/api/v1/signing-keys', { body: order });
  assertProblem(again, { status: 409, code: 'signing-key.name-taken' });
});
