import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { login } from '../auth/people.js';
import {
  type ApprovalFixture,
  held,
  newApprover,
  newGuardedKey,
  openApprovalFixture,
  unique,
} from '../approvals/approvers.js';
import { about, algorithm, bom } from '../inventory/documents.js';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { createKey, digestOf, sign, until } from '../support/signing.js';
import { beat, registerSensor } from '../sensors/sensor-calls.js';
import { latest, readFeed } from './event-endpoints.js';

let place: ApprovalFixture;

beforeAll(async () => {
  place = await openApprovalFixture();
});
afterAll(() => place.stage.close());

const signOne = async (key = place.apiKey) => {
  const { status, body } = await sign(place.service, {
    key,
    body: { key: 'default', digest: digestOf(unique('feed')) },
  });
  expect(status).toBe(200);
  return body.requestId as string;
};
const feed = (query: string, key = place.apiKey) => place.service.call('GET', `/api/v1/events?${query}`, { key });
/** Waits until the feed has this many events after a position. */
const feedOf = (after: string, types: string, count: number, key = place.apiKey) =>
  until(`${count} events`, 20, async () => {
    const { events } = await readFeed(place.service, key, { after, types });
    return events.length >= count && events;
  });

describe('the list of events', () => {
  it('contains every event once, also while others are written and in small pages', async () => {
    const start = await latest(place.service, place.apiKey);
    const written: string[] = [];
    const seen: string[] = [];
    const writing = { isOver: false };
    const writers = Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let i = 0; i < 25; i += 1) written.push(await signOne());
      }),
    ).finally(() => (writing.isOver = true));
    let cursor = start;
    const poll = async () => {
      const page = await readFeed(place.service, place.apiKey, {
        after: cursor,
        types: 'signing-request.signed',
        limit: 7,
      });
      ({ cursor } = page);
      seen.push(...page.events.map(({ data }) => data.requestId as string));
    };
    while (!writing.isOver) await poll();
    await writers;
    await until('the last event', 20, async () => {
      await poll();
      return seen.length >= written.length;
    });
    expect(seen.toSorted()).toEqual(written.toSorted());
    expect(await feedOf(start, 'signing-request.signed', written.length)).toHaveLength(written.length);
  }, 120_000);

  it('returns a cursor on every page, also on an empty one, and continues after the ID of an event', async () => {
    const start = await latest(place.service, place.apiKey);
    const { body } = await feed(new URLSearchParams({ after: start, types: 'scan.*' }).toString());
    expect(body).toMatchObject({ items: [], cursor: expect.any(String), more: false });
    const [first, second] = [await signOne(), await signOne()];
    const events = await feedOf(start, 'signing-request.signed', 2);
    expect(events.map(({ data }) => data.requestId)).toEqual([first, second]);
    const rest = await readFeed(place.service, place.apiKey, { after: events[0]!.id, types: 'signing-request.signed' });
    expect(rest.events.map(({ data }) => data.requestId)).toEqual([second]);
    const continued = await readFeed(place.service, place.apiKey, {
      after: body.cursor,
      types: 'signing-request.signed',
    });
    expect(continued.events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  it('contains no event that the caller may not receive', async () => {
    const other = await newApprover(place, ['admin']);
    const { key } = await newApiKey(place.service, other.accessToken, ['sign:read', 'sign:digest']);
    const start = await latest(place.service, place.apiKey);
    await signOne();
    await createKey(place.service, place.apiKey, { name: unique('feed'), type: 'ec-p256' });
    const mine = await signOne(key);
    await feedOf(start, 'signing-request.signed,signing-key.created', 3);
    const { events } = await readFeed(place.service, key, { after: start });
    expect(events.map(({ type, data }) => [type, data.requestId])).toEqual([['signing-request.signed', mine]]);
    assertProblem(await feed('types=signing-key.created', key), { status: 403, code: 'insufficient_scope' });
    expect((await feed('types=signing-key.*', key)).body.items).toEqual([]);
  });

  it('refuses unknown events, other cursors and missing credentials', async () => {
    const unknown = await feed('types=signing-request.*,scans.*');
    assertProblem(unknown, { status: 422, code: 'webhook.event-unknown', pointer: '/types/1' });
    expect(unknown.body.detail).toContain('Did you mean "scan.*"?');
    const { body: other } = await place.service.call('GET', '/api/v1/audit/entries?limit=1', { key: place.apiKey });
    for (const after of [other.nextCursor, 'x', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'])
      assertProblem(await feed(new URLSearchParams({ after }).toString()), { status: 400, code: 'request.cursor' });
    expect((await place.service.call('GET', '/api/v1/events')).status).toBe(401);
    expect((await feed('limit=0')).status).toBe(400);
  });

  it('contains signing keys and sign-ins', async () => {
    const start = await latest(place.service, place.apiKey);
    const { service, apiKey } = place;
    const person = await newApprover(place);
    await login(service, person.email, person.password);
    await service.call('POST', '/api/auth/login', { body: { email: person.email, password: 'wrong password' } });
    const key = await createKey(service, apiKey, { name: unique('life'), type: 'ec-p256' });
    const act = (action: string, body?: object) =>
      service.call('POST', `/api/v1/signing-keys/${key.id}/${action}`, { key: apiKey, body });
    for (const action of ['rotate', 'disable', 'enable']) await act(action, {});
    const keys = await feedOf(start, 'signing-key.*', 4);
    expect(keys.map(({ type, data }) => [type, data.keyId])).toEqual([
      ['signing-key.created', key.id],
      ['signing-key.rotated', key.id],
      ['signing-key.disabled', key.id],
      ['signing-key.enabled', key.id],
    ]);
    const events = await feedOf(start, 'sign-in.*', 2);
    expect(events.map(({ type }) => type)).toContain('sign-in.succeeded');
    const failed = events.find(({ type, data }) => type === 'sign-in.failed' && data.account === person.email);
    expect(failed?.data).toMatchObject({ address: '127.0.0.1' });
  });

  it('contains sensors that connect, become silent and connect again', async () => {
    const start = await latest(place.service, place.apiKey);
    const { id, key } = await registerSensor(place.service, place.apiKey, { heartbeatSeconds: 60 });
    await beat(place.service, key);
    await beat(place.service, key);
    await place.stage.sql(`UPDATE sensor SET last_heartbeat_at = now() - interval '1 hour' WHERE id = $1`, [id]);
    await feedOf(start, 'sensor.silent', 1);
    await beat(place.service, key);
    const events = await feedOf(start, 'sensor.*', 3);
    expect(events.map(({ type, data }) => [type, data.sensorId])).toEqual([
      ['sensor.connected', id],
      ['sensor.silent', id],
      ['sensor.connected', id],
    ]);
  });

  it('contains only imports made by the caller', async () => {
    const start = await latest(place.service, place.apiKey);
    const reporter = await newApprover(place, ['admin']);
    const { key } = await newApiKey(place.service, reporter.accessToken, ['inventory:report']);
    const send = (by: string) =>
      place.service.call('POST', '/api/ingest?async=true', {
        key: by,
        body: bom([algorithm({ name: 'RSA-2048' })], about(unique('events'))),
      });
    await send(place.apiKey);
    const { status } = await send(key);
    expect(status).toBe(202);
    const all = await feedOf(start, 'import.*', 2);
    expect(all.map(({ type }) => type)).toEqual(['import.completed', 'import.completed']);
    const { events } = await readFeed(place.service, key, { after: start, types: 'import.*' });
    expect(events).toHaveLength(1);
  });
});

describe('the list of events of a caller without audit:read', () => {
  it('contains approvals only for the requester and for members of their groups', async () => {
    const { service, apiKey } = place;
    const ann = await newApprover(place);
    const mallory = await newApprover(place, ['operator']);
    const start = await latest(service, apiKey);
    const { key } = await newGuardedKey(place, [{ members: [ann], threshold: 1 }]);
    const { approvalId } = await held(place, { digest: digestOf(unique('secret')), key: key.name });
    const direct = await service.call('GET', `/api/v1/approvals/${approvalId}`, { key: mallory.accessToken });
    expect(direct.status).toBe(404);
    const seen = await feedOf(start, 'approval.*', 1, ann.accessToken);
    expect(seen.map(({ type, data }) => [type, data.approvalId])).toEqual([['approval.requested', approvalId]]);
    const { events } = await readFeed(service, mallory.accessToken, { after: start, types: 'approval.*' });
    expect(events).toEqual([]);
  });

  it('contains only the signing keys to which the credential is limited', async () => {
    const { service, apiKey } = place;
    const prefix = unique('release');
    const { body: limited } = await service.call('POST', '/api/settings/api-keys', {
      key: apiKey,
      body: { name: unique('limited'), permissions: ['signing-keys:read'], expiry: inDays(1), keys: [`${prefix}-*`] },
    });
    const start = await latest(service, apiKey);
    await createKey(service, apiKey, { name: unique('other'), type: 'ec-p256' });
    const key = await createKey(service, apiKey, { name: `${prefix}-1`, type: 'ec-p256' });
    const seen = await feedOf(start, 'signing-key.created', 1, limited.key);
    expect(seen.map(({ data }) => data.keyId)).toEqual([key.id]);
  });

  it('contains no imports of another sensor of the same owner', async () => {
    const { service, apiKey } = place;
    const [first, second] = [
      await registerSensor(service, apiKey, { name: unique('sensor') }),
      await registerSensor(service, apiKey, { name: unique('sensor') }),
    ];
    const start = await latest(service, apiKey);
    const body = bom([algorithm({ name: 'RSA-2048' })], about(unique('source')));
    const sent = await service.call('POST', '/api/ingest?async=true', { key: first.key, body });
    expect((await service.call('GET', `/api/imports/${sent.body.id}`, { key: second.key })).status).toBe(404);
    const seen = await feedOf(start, 'import.*', 1, first.key);
    expect(seen.map(({ data }) => data.importId)).toEqual([sent.body.id]);
    expect((await readFeed(service, second.key, { after: start })).events).toEqual([]);
  });
});

describe('signatures without a subscriber', () => {
  it('write no row for events', async () => {
    const rows = async () => {
      const [row] = await place.stage.sql<{ entries: number; deliveries: number; positions: number }>(
        `SELECT (SELECT count(*)::int FROM audit_entry WHERE action = 'event.announced') AS entries,
           (SELECT count(*)::int FROM webhook_delivery) AS deliveries, (SELECT count(feed_position)::int FROM webhook_endpoint) AS positions`,
      );
      return row;
    };
    const before = await rows();
    for (let i = 0; i < 20; i += 1) await signOne();
    expect(await rows()).toEqual(before);
  });
});

/** These tests run last, because they damage the log. */
describe('the list of events of a log that was changed with SQL', () => {
  it('contains no entry that was inserted with SQL', async () => {
    const start = await latest(place.service, place.apiKey);
    await place.stage.sql(
      `WITH forged AS (INSERT INTO audit_entry (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
         VALUES (gen_random_uuid(), 'signing-key.disabled', 'done', 'user', 'x', 'x', 'signing-key', 'x', 'x', '', '{}') RETURNING id)
       INSERT INTO log_waiting (entry_id) SELECT id FROM forged`,
    );
    const key = await createKey(place.service, place.apiKey, { name: unique('real'), type: 'ec-p256' });
    await place.service.call('POST', `/api/v1/signing-keys/${key.id}/disable`, { key: place.apiKey });
    const events = await feedOf(start, 'signing-key.disabled', 1);
    expect(events.map(({ data }) => data.keyId)).toEqual([key.id]);
  });

  it('continues past many entries that are not events for the caller', async () => {
    const { key } = await newApiKey(place.service, place.apiKey, ['discovery:run']);
    const start = await latest(place.service, place.apiKey);
    // Simulates a long log: 45,000 leaves of an entry that is not listed as an event.
    await place.stage.sql(
      `INSERT INTO log_leaf (index, entry_id, kind) SELECT h.size + n, l.entry_id, 'record' FROM log_head h, generate_series(0, 44999) n,
         (SELECT entry_id FROM log_leaf ORDER BY index LIMIT 1) l`,
    );
    const [head] = await place.stage.sql<{ size: string }>(`SELECT size FROM log_head`);
    await place.stage.sql(`UPDATE log_head SET size = size + 45000`);
    const { events, pages } = await readFeed(place.service, key, { after: start, types: 'scan.*' });
    await place.stage.sql(`UPDATE log_head SET size = $1`, [head!.size]);
    await place.stage.sql(`DELETE FROM log_leaf WHERE index >= $1`, [head!.size]);
    expect(events).toEqual([]);
    expect(pages).toBeGreaterThanOrEqual(2);
  });
});
