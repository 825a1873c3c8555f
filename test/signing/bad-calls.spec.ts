import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem, RefusedCalls } from '../support/refused-calls.js';
import type { CallOptions, Service } from '../support/service.js';
import { digestOf, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const GOOD = { digest: digestOf('content') };
const LIST = '/api/v1/sign/requests';
const NOBODY = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';

let stage: Stage;
let service: Service;
let apiKey: string;
let calls: RefusedCalls;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  calls = new RefusedCalls(stage, service, apiKey);
});
afterAll(() => stage.close());

describe('a query is rejected', () => {
  it.each([
    ['an unknown parameter', '?statsu=SIGNED', 'statsu'],
    ['an unknown status', '?status=DONE', 'status'],
    ['a limit of nothing', '?limit=0', 'limit'],
    ['a limit beyond 200', '?limit=201', 'limit'],
    ['a limit that is no number', '?limit=ten', 'limit'],
    ['a broken limit', '?limit=1.5', 'limit'],
    ['two limits', '?limit=1&limit=2', 'limit'],
    ['two cursors', '?cursor=a&cursor=b', 'cursor'],
    ['an object', '?status[$ne]=SIGNED', 'status[$ne]'],
    ['a NUL character', '?cursor=a%00', 'cursor'],
  ])('%s', async (_, query, name) => {
    await calls.get({ status: 400, code: 'request.invalid', pointer: `/${name}` }, `${LIST}${query}`);
  });

  it.each(['-1', '31', '1.5', 'ever', '1e1', ''])('with a wait of %j seconds', async (wait) => {
    await calls.get({ status: 400, code: 'request.invalid', pointer: '/wait' }, `${LIST}/${NOBODY}?wait=${wait}`);
  });
});

describe('a cursor is rejected', () => {
  const refusal = { status: 400, code: 'request.cursor' };
  let cursor: string;

  beforeAll(async () => {
    for (let i = 0; i < 3; i += 1) await sign(service, { key: apiKey, body: { ...GOOD, async: true } });
    cursor = (await service.call('GET', `${LIST}?limit=1&status=QUEUED`, { key: apiKey })).body.nextCursor;
  });

  it('if it is malformed', async () => {
    await calls.get(refusal, `${LIST}?cursor=abc`);
  });
  it('if it is empty', async () => {
    await calls.get(refusal, `${LIST}?cursor=`);
  });
  it('from another list', async () => {
    await calls.get(refusal, `/api/v1/signing-keys?cursor=${cursor}`);
  });
  it('from the same list with another filter', async () => {
    await calls.get(refusal, `${LIST}?cursor=${cursor}`);
  });

  it('if its position was edited', async () => {
    const [body = '', seal] = cursor.split('.');
    const [list] = JSON.parse(Buffer.from(body, 'base64url').toString());
    const edited = Buffer.from(JSON.stringify([list, NOBODY])).toString('base64url');
    await calls.get(refusal, `${LIST}?status=QUEUED&cursor=${edited}.${seal}`);
  });

  it('but accepted unchanged', async () => {
    const { status, body } = await service.call('GET', `${LIST}?limit=1&status=QUEUED&cursor=${cursor}`, {
      key: apiKey,
    });
    expect(status).toBe(200);
    expect(body.items).toHaveLength(1);
  });
});

describe('a request returns not found', () => {
  it.each([
    ['for the id of nobody', `${LIST}/${NOBODY}`, 'signing-request.missing'],
    ['for what is no id', `${LIST}/1`, 'resource.missing'],
    ['for an id with SQL in it', `${LIST}/${NOBODY}'--`, 'resource.missing'],
    ['for a NUL', `${LIST}/%00`, 'resource.missing'],
    ['for the id of no signing key', `/api/v1/signing-keys/${NOBODY}`, 'signing-key.missing'],
    ['at an unknown address', '/api/v1/sign/nothing', 'route.missing'],
    ['above the root', '/api/v1/sign/requests/..%2f..%2fetc%2fpasswd', 'resource.missing'],
  ])('%s', async (_, path, code) => {
    await calls.get({ status: 404, code }, path);
  });

  it('or 405 for another method on an existing path', async () => {
    const answer = await calls.get({ status: 405, code: 'route.method' }, '/api/v1/sign/digest');
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it('but not for redundant slashes', async () => {
    expect((await service.call('GET', `/api//v1/sign/requests/?limit=1`, { key: apiKey })).status).toBe(200);
  });

  it('at a path with a segment that is too long', async () => {
    await calls.get({ status: 414, code: 'request.address' }, `${LIST}/${'1'.repeat(300)}`);
  });

  it('at a path that cannot be decoded', async () => {
    await calls.get({ status: 400, code: 'request.malformed' }, `${LIST}/%zz`);
  });

  it('for a request of another person, exactly as for an unknown one', async () => {
    const { body } = await sign(service, { key: apiKey, body: GOOD });
    const [other] = await stage.change<{ id: string }>(
      `INSERT INTO user_account SELECT (jsonb_populate_record(u, '{"email": "other@example.org"}'
         || jsonb_build_object('id', gen_random_uuid()))).* FROM user_account u LIMIT 1 RETURNING id`,
    );
    const mine = await newApiKey(service, apiKey, ['sign:read', 'sign:digest']);
    await stage.change(`UPDATE api_key SET owner_id = $1 WHERE id = $2`, [other?.id, mine.id]);
    const foreign = await calls.get({ status: 404, code: 'signing-request.missing' }, `${LIST}/${body.requestId}`, {
      key: mine.key,
    });
    const none = await service.call('GET', `${LIST}/${NOBODY}`, { key: mine.key });
    expect(foreign.body.detail).toBe(none.body.detail);
    expect((await service.call('GET', LIST, { key: mine.key })).body.items).toEqual([]);
    const own = await sign(service, { key: mine.key, body: GOOD });
    expect((await service.call('GET', LIST, { key: mine.key })).body.items).toMatchObject([
      { requestId: own.body.requestId },
    ]);
  });
});

describe('a credential is rejected', () => {
  const call = (authorization: string | undefined): CallOptions => ({
    key: undefined,
    body: GOOD,
    ...(authorization === undefined ? {} : { headers: { authorization } }),
  });

  it.each<[string, string | undefined, string]>([
    ['none', undefined, 'auth.missing'],
    ['a password', `Basic ${Buffer.from('a:b').toString('base64')}`, 'auth.missing'],
    ['nothing behind the word', 'Bearer', 'auth.missing'],
    ['two', 'Bearer a b', 'auth.missing'],
    ['an API key of nobody', 'Bearer sw_000000000000_0000000000000000000000000000000000000', 'auth.unknown-key'],
    ['what only begins like a key', 'Bearer sw_', 'auth.unknown-key'],
    ['what looks like a token', 'Bearer a.b.c', 'auth.bad-token'],
    ['anything else', 'Bearer letmein', 'auth.bad-token'],
  ])('%s', async (_, authorization, code) => {
    const answer = await calls.post({ status: 401, code }, '/api/v1/sign/digest', call(authorization));
    const challenge = code === 'auth.missing' ? '' : ', error="invalid_token"';
    expect(answer.headers.get('www-authenticate')).toBe(`Bearer realm="sealwright"${challenge}`);
  });

  it.each<[string, (key: string) => string]>([
    ['with one character changed', (key) => `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`],
    ['with another secret and a right checksum of nothing', (key) => key.replace(/_\w{6}/, '_000000')],
    ['cut short', (key) => key.slice(0, -1)],
    ['in capitals', (key) => key.toUpperCase().replace('SW_', 'sw_')],
  ])('a key %s', async (_, garble) => {
    await calls.post(
      { status: 401, code: 'auth.unknown-key' },
      '/api/v1/sign/digest',
      call(`Bearer ${garble(apiKey)}`),
    );
  });

  it('if the key has expired', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:digest']);
    await stage.change(`UPDATE api_key SET expiry = now() - interval '1 second' WHERE id = $1`, [id]);
    const answer = await calls.post({ status: 401, code: 'auth.expired-key' }, '/api/v1/sign/digest', {
      body: GOOD,
      key,
    });
    expect(answer.headers.get('www-authenticate')).toContain('invalid_token');
  });

  it('if the key was revoked', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['sign:digest']);
    expect((await sign(service, { key, body: GOOD })).status).toBe(200);
    expect((await service.call('DELETE', `/api/settings/api-keys/${id}`, { key: apiKey })).status).toBe(204);
    await calls.post({ status: 401, code: 'auth.revoked-key' }, '/api/v1/sign/digest', { body: GOOD, key });
  });

  it('if the key lacks the scope, which the response names', async () => {
    const { key } = await newApiKey(service, apiKey, ['sign:read']);
    const answer = await calls.post({ status: 403, code: 'insufficient_scope' }, '/api/v1/sign/digest', {
      body: GOOD,
      key,
    });
    expect(answer.body).toMatchObject({ scope: 'sign:digest', detail: expect.stringContaining('sign:digest') });
    expect(answer.headers.get('www-authenticate')).toContain('scope="sign:digest"');
  });

  it('for a read operation too, which is audited as well', async () => {
    const answer = await service.call('GET', LIST);
    assertProblem(answer, { status: 401, code: 'auth.missing' });
    await calls.assertWrittenDown(answer, 'auth.missing');
  });

  it('before the query is validated', async () => {
    await calls.get({ status: 401, code: 'auth.missing' }, `${LIST}?limit=nothing`, { key: undefined });
  });
});

it('headers that are too large return a problem in the same format', async () => {
  await calls.get({ status: 431, code: 'request.headers' }, LIST, { headers: { 'x-noise': 'n'.repeat(20_000) } });
});
