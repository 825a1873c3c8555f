import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, register } from '../auth/people.js';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
/** API key with admin:*, which sees all requests. */
let apiKey: string;
/** A person who sees only her own requests. */
let ada: Person;
/** An API key of the administrator. The key sees only its owner's requests. */
let pipeline: { id: string; key: string; name: string };
let release: PublishedKey;
let other: PublishedKey;

const LIST = '/api/v1/sign/requests';

beforeAll(async () => {
  stage = await openStage();
  const seeded = await stage.seed();
  apiKey = seeded.apiKey;
  service = await stage.start();
  release = await createKey(service, apiKey, { name: 'release', type: 'ec-p256' });
  other = await createKey(service, apiKey, { name: 'release-2', type: 'ec-p256' });
  ada = await register(service, 'ada');
  const [user] = await stage.sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [ada.email]);
  const roles = { key: apiKey, body: { roles: ['operator'] } };
  const granted = await service.call('PATCH', `/api/settings/users/${user?.id}`, roles);
  if (granted.status !== 200) throw new Error(JSON.stringify(granted.body));
  pipeline = await namedKey(`release's 100%_key *`);
});
afterAll(() => stage.close());

/** Creates an API key of the administrator. The key sees only its owner's requests. */
async function namedKey(name: string) {
  const body = { name, permissions: ['sign:digest', 'sign:read'], expiry: inDays(1) };
  const made = await service.call('POST', '/api/settings/api-keys', { key: apiKey, body });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { id: made.body.id as string, key: made.body.key as string, name };
}

/** Signs a fresh digest and returns the ID of the request. */
async function signed(body: object = {}, { key = apiKey, headers = {} } = {}): Promise<string> {
  const order = { digest: digestOf(randomUUID()), key: release.name, ...body };
  const answer = await sign(service, { key, body: order, headers });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.requestId as string;
}

function list(query: Record<string, string>, key = apiKey): Promise<Answer> {
  return service.call('GET', `${LIST}?${new URLSearchParams(query).toString()}`, { key });
}

/** Returns the IDs of the requests that a filter matches. */
async function found(query: Record<string, string>, key = apiKey): Promise<string[]> {
  const { status, body } = await list(query, key);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body.items as { requestId: string }[]).map(({ requestId }) => requestId);
}

/** Follows the Link headers and returns the IDs of each page. `between` runs before every page but the first. */
async function pages(query: Record<string, string>, between: () => Promise<unknown>): Promise<string[][]> {
  const all: string[][] = [];
  for (let path = `${LIST}?${new URLSearchParams({ limit: '2', ...query }).toString()}`; path !== '';) {
    const { status, headers, body } = await service.call('GET', path, { key: apiKey });
    if (status !== 200) throw new Error(JSON.stringify(body));
    all.push((body.items as { requestId: string }[]).map(({ requestId }) => requestId));
    path = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
    if (path !== '') await between();
  }
  return all;
}

describe('a filter of signing requests', () => {
  it.each(['build-4711', '100%', '_', `it's "quoted" \\ and; -- DROP`, 'grün/☃ & more=1?', '*'])(
    'finds the reference %j, and no other',
    async (reference) => {
      const unique = `${randomUUID()} ${reference}`;
      const [wanted] = [await signed({ reference: unique }), await signed({ reference: `${unique}0` }), await signed()];
      expect(await found({ reference: unique })).toEqual([wanted]);
      expect(await found({ reference: `${unique.slice(0, -1)}%` })).toEqual(reference.endsWith('%') ? [wanted] : []);
    },
  );

  it('finds a key by name and by ID, but no key whose name starts with it', async () => {
    const reference = randomUUID();
    const [one] = [await signed({ reference }), await signed({ reference, key: other.name })];
    expect(await found({ key: 'release', reference })).toEqual([one]);
    expect(await found({ key: release.id, reference })).toEqual([one]);
    expect(await found({ key: release.id.toUpperCase(), reference })).toEqual([one]);
  });

  it('finds the requests of disabled keys', async () => {
    const key = await createKey(service, apiKey, { name: `stopped-${randomUUID()}`, type: 'ec-p256' });
    const id = await signed({ key: key.name });
    await service.call('POST', `/api/v1/signing-keys/${key.id}/disable`, { key: apiKey });
    expect(await found({ key: key.name })).toEqual([id]);
    const body = { days: 7 };
    expect(
      (await service.call('POST', `/api/v1/signing-keys/${key.id}/destruction`, { key: apiKey, body })).status,
    ).toBe(200);
    expect(await found({ key: key.name })).toEqual([id]);
  });

  it('finds an X-Request-Id', async () => {
    const correlation = randomUUID();
    const id = await signed({}, { headers: { 'x-request-id': correlation } });
    await signed();
    expect(await found({ correlation })).toEqual([id]);
  });

  it('finds a caller by ID and by name, with % and _ as ordinary characters', async () => {
    const id = await signed({}, { key: pipeline.key });
    const similar = await namedKey(`release's 100__key *`);
    await signed({}, { key: similar.key });
    expect(await found({ caller: pipeline.id })).toContain(id);
    expect(await found({ caller: pipeline.name })).toEqual(await found({ caller: pipeline.id }));
    expect(await found({ caller: similar.name })).not.toContain(id);
  });

  it('finds a caller with rotated keys: the newest requests of all keys with the name, page by page', async () => {
    const name = `rotated ${randomUUID()}`;
    const [first, second] = [await namedKey(name), await namedKey(name)];
    const made: string[] = [];
    for (const { key } of [first, second, first, second, first]) made.unshift(await signed({}, { key }));
    const walked = await pages({ caller: name }, () => signed({}, { key: second.key }));
    expect(walked).toEqual([made.slice(0, 2), made.slice(2, 4), made.slice(4)]);
  });

  it('finds a person by email address', async () => {
    const id = await signed({}, { key: ada.accessToken });
    await signed();
    expect(await found({ caller: ada.email })).toContain(id);
    expect(await found({ caller: ada.email.toUpperCase() })).toEqual(await found({ caller: ada.email }));
  });

  it('finds a period: from is part of it, to is not', async () => {
    const reference = randomUUID();
    const ids = [await signed({ reference }), await signed({ reference }), await signed({ reference })];
    const createdAt = async (id = '') => (await read(service, apiKey, id)).body.createdAt as string;
    // Uses whole milliseconds, the precision of times in the API.
    await stage.sql(
      `UPDATE signing_request SET created_at = date_trunc('milliseconds', created_at) WHERE reference = $1`,
      [reference],
    );
    const [, middle, last] = await Promise.all(ids.map((id) => createdAt(id)));
    expect(await found({ reference, from: middle ?? '' })).toEqual([ids[2], ids[1]]);
    expect(await found({ reference, to: last ?? '' })).toEqual([ids[1], ids[0]]);
    expect(await found({ reference, from: middle ?? '', to: last ?? '' })).toEqual([ids[1]]);
    expect(await found({ reference, from: '0001-01-01', to: '9999-12-31T23:59:59Z' })).toEqual(ids.toReversed());
    expect(await found({ reference, to: '1970-01-01' })).toEqual([]);
  });

  it('finds a request whose ID is up to a minute older or newer than its creation time', async () => {
    const reference = randomUUID();
    const id = await signed({ reference });
    const from = new Date(Date.now() + 30_000).toISOString();
    await stage.sql(`UPDATE signing_request SET created_at = $2 WHERE id = $1`, [id, from]);
    expect(await found({ reference, from })).toEqual([id]);
    const to = new Date(Date.now() - 30_000).toISOString();
    await stage.sql(`UPDATE signing_request SET created_at = $2::timestamptz - interval '1 second' WHERE id = $1`, [
      id,
      to,
    ]);
    expect(await found({ reference, to })).toEqual([id]);
  });

  it('is combined with every other filter', async () => {
    const [reference, correlation, digest] = [randomUUID(), randomUUID(), digestOf(randomUUID())];
    const id = await signed({ reference, digest }, { key: pipeline.key, headers: { 'x-request-id': correlation } });
    const all = {
      reference,
      correlation,
      digest,
      key: release.name,
      caller: pipeline.name,
      status: 'SIGNED',
      from: new Date(Date.now() - 3_600_000).toISOString(),
      to: new Date(Date.now() + 3_600_000).toISOString(),
    };
    expect(await found(all)).toEqual([id]);
    const wrong = {
      reference: randomUUID(),
      correlation: randomUUID(),
      digest: digestOf(randomUUID()),
      key: other.name,
      caller: ada.email,
      status: 'FAILED',
      from: all.to,
      to: all.from,
    };
    for (const [name, value] of Object.entries(wrong)) {
      const { from, to } = name === 'from' || name === 'to' ? { from: undefined, to: undefined } : all;
      const query = { ...all, from, to, [name]: value };
      const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
      expect([name, await found(Object.fromEntries(given))]).toEqual([name, []]);
    }
  });
});

describe('what did this key sign since T', () => {
  it('is one call, and its pages are stable while requests are added and leave the filter', async () => {
    const key = await createKey(service, apiKey, { name: `busy-${randomUUID()}`, type: 'ec-p256' });
    await signed({ key: key.name });
    const from = new Date().toISOString();
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.unshift(await signed({ key: key.name }));
    let isFirst = true;
    const walked = await pages({ key: key.name, status: 'SIGNED', from }, async () => {
      await signed({ key: key.name });
      await signed({ key: other.name });
      // The row at the cursor stops matching the filter. The next page must still not skip a row.
      if (isFirst)
        await stage.sql(
          `UPDATE signing_request SET status = 'FAILED', signature = NULL, failure_code = 'hsm.error', failure_detail = '' WHERE id = $1`,
          [made[1]],
        );
      isFirst = false;
    });
    expect(walked).toEqual([made.slice(0, 2), made.slice(2, 4), made.slice(4)]);
  });

  it('lists requests of the same creation time once each', async () => {
    const reference = randomUUID();
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.unshift(await signed({ reference }));
    await stage.sql(`UPDATE signing_request SET created_at = now() WHERE reference = $1`, [reference]);
    expect((await pages({ reference, key: release.name }, () => Promise.resolve())).flat()).toEqual(made);
  });
});

describe('requests of other people', () => {
  const owned = async () => {
    const reference = randomUUID();
    const theirs = await signed({ reference });
    const hers = await signed({ reference }, { key: ada.accessToken });
    return { reference, theirs, hers };
  };

  it('are not found by any filter, and do not shorten pages', async () => {
    const { reference, hers } = await owned();
    for (let i = 0; i < 3; i += 1) await signed({ reference });
    const second = await signed({ reference }, { key: ada.accessToken });
    expect(await found({ reference, limit: '2' }, ada.accessToken)).toEqual([second, hers]);
    expect(await found({ reference, key: release.id }, ada.accessToken)).toEqual([second, hers]);
    expect(await found({ reference, from: '2020-01-01' }, ada.accessToken)).toEqual([second, hers]);
    expect(await found({ reference, caller: pipeline.id }, ada.accessToken)).toEqual([]);
  });

  it('stay invisible: names of their credentials are rejected like unknown names', async () => {
    await signed({}, { key: pipeline.key });
    const refusal = { status: 400, code: 'request.invalid', pointer: '/caller' };
    const [known, unknown] = [
      await list({ caller: pipeline.name }, ada.accessToken),
      await list({ caller: 'nobody' }, ada.accessToken),
    ];
    assertProblem(known, refusal);
    assertProblem(unknown, refusal);
    expect(known.body.detail.replace(pipeline.name, '')).toBe(unknown.body.detail.replace('nobody', ''));
    const [{ email } = { email: '' }] = await stage.sql<{ email: string }>(
      `SELECT email FROM user_account WHERE email <> $1`,
      [ada.email],
    );
    assertProblem(await list({ caller: email }, ada.accessToken), refusal);
    expect((await list({ caller: ada.email }, ada.accessToken)).status).toBe(200);
  });
});

describe('a filter of signing requests is rejected', () => {
  it.each([
    ['an unknown parameter', { refrence: 'build' }, '/refrence'],
    ['an unknown status', { status: 'DONE' }, '/status'],
    ['a time without a date', { from: 'yesterday' }, '/from'],
    ['a period that ends before it begins', { from: '2026-02-01', to: '2026-01-01' }, '/to'],
    ['an empty period', { from: '2026-02-01', to: '2026-02-01' }, '/to'],
    ['an empty reference', { reference: '' }, '/reference'],
    ['a reference that is too long', { reference: 'x'.repeat(201) }, '/reference'],
    ['an unknown caller', { caller: 'nobody at all' }, '/caller'],
  ])('for %s', async (_, query, pointer) => {
    assertProblem(await list(query), { status: 400, code: 'request.invalid', pointer });
  });

  it('for an unknown key', async () => {
    const refusal = { status: 422, code: 'signing-key.unknown', pointer: '/key' };
    assertProblem(await list({ key: 'rel' }), refusal);
    assertProblem(await list({ key: 'release%' }), refusal);
  });

  it('for a name of too many credentials', async () => {
    const name = `crowd ${randomUUID()}`;
    const { id } = await namedKey(name);
    await stage.sql(
      `INSERT INTO api_key (id, lookup, name, permissions, expiry, secret_hash, owner_id, revoked_at)
       SELECT gen_random_uuid(), $2 || g, name, permissions, expiry, secret_hash, owner_id, now() FROM api_key, generate_series(1, 100) g WHERE id = $1`,
      [id, randomUUID()],
    );
    assertProblem(await list({ caller: name }), { status: 400, code: 'request.invalid', pointer: '/caller' });
  });

  it('for the cursor of another filter', async () => {
    const reference = randomUUID();
    for (let i = 0; i < 2; i += 1) await signed({ reference });
    const { body } = await list({ reference, limit: '1' });
    const cursor = body.nextCursor as string;
    expect((await list({ reference, cursor })).status).toBe(200);
    const refusal = { status: 400, code: 'request.cursor' };
    assertProblem(await list({ cursor }), refusal);
    assertProblem(await list({ reference: `${reference}0`, cursor }), refusal);
    assertProblem(await list({ reference, key: release.name, cursor }), refusal);
    // The cursor is rejected even if another filter has the same value.
    assertProblem(await list({ correlation: reference, cursor }), refusal);
  });

  it('for a caller without the permission, whatever the key', async () => {
    const { key } = await newApiKey(service, apiKey, ['sign:digest']);
    for (const name of ['release', 'unknown-key'])
      assertProblem(await list({ key: name }, key), { status: 403, code: 'insufficient_scope' });
  });
});
