import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApprovalFixture, held, newApprover, newGuardedKey, unique } from '../approvals/approvers.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { createKey, digestOf, sign, until } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import { ALLOWED, eventsAt, openEndpoint } from './event-endpoints.js';

const receiver = new WebReceiver();
let place: ApprovalFixture;

beforeAll(async () => {
  await receiver.start();
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ settings: ALLOWED }) };
});
afterAll(async () => {
  await place.stage.close();
  await receiver.stop();
});

const endpointFor = (events: string[], key = place.apiKey) => openEndpoint(place.service, key, receiver, events);
const signOne = async () => {
  const { status } = await sign(place.service, {
    key: place.apiKey,
    body: { key: 'default', digest: digestOf(unique('one')) },
  });
  expect(status).toBe(200);
};
/** Runs statements in a transaction, and commits the transaction when the returned function is called. */
const underWay = async (...statements: [text: string, values?: unknown[]][]) => {
  const client = new Client({ connectionString: place.stage.databaseUrl });
  await client.connect();
  await client.query('BEGIN');
  for (const [text, values] of statements) await client.query(text, values);
  return async () => {
    await client.query('COMMIT');
    await client.end();
  };
};
const settle = () => new Promise((resolve) => setTimeout(resolve, 4000));

describe('an endpoint', () => {
  it('sends no messages of its earlier owner to the caller who sets its URL, neither pending nor delivered ones', async () => {
    const { service, apiKey } = place;
    const mallory = await newApiKey(service, apiKey, ['webhooks:write', 'webhooks:read']);
    const endpoint = await endpointFor(['signing-request.signed']);
    const path = `/api/webhooks/${endpoint.id}`;
    const deliveriesOf = async (): Promise<{ id: string; status: string }[]> =>
      (await service.call('GET', `${path}/deliveries`, { key: mallory.key })).body.items;
    await signOne();
    await until('the delivery', 20, async () => (await deliveriesOf())[0]?.status === 'DELIVERED');
    receiver.answersAt(endpoint.path, 503);
    await signOne();
    await receiver.calls(endpoint.path, 2);
    const target = `/${unique('redirected')}`;
    const { headers } = await service.call('GET', path, { key: mallory.key });
    const changed = await service.call('PATCH', path, {
      key: mallory.key,
      headers: { 'if-match': headers.get('etag') ?? '' },
      body: { url: `http://127.0.0.1:${receiver.port}${target}` },
    });
    expect(changed.status).toBe(200);
    const earlier = await deliveriesOf();
    expect(earlier.map(({ status }) => status)).toEqual(['GIVEN_UP', 'DELIVERED']);
    const redeliver = (id: string) =>
      service.call('POST', `/api/webhooks/deliveries/${id}/redeliver`, { key: mallory.key });
    for (const { id } of earlier) assertProblem(await redeliver(id), { status: 409, code: 'webhook.earlier-owner' });
    const test = await service.call('POST', `${path}/test`, { key: mallory.key });
    await receiver.calls(target);
    await until('the test is delivered', 20, async () => (await deliveriesOf())[0]?.status === 'DELIVERED');
    expect((await redeliver(test.body.id)).status).toBe(202);
    await receiver.calls(target, 2);
    const received = receiver.received.filter((call) => call.path === target).map(({ body }) => JSON.parse(body).type);
    expect(new Set(received)).toEqual(new Set(['webhook.test']));
  });

  it('sends a new owner no message that was being queued while the owner changed', async () => {
    const { service, apiKey, stage } = place;
    const mallory = await newApiKey(service, apiKey, ['webhooks:write', 'webhooks:read']);
    const endpoint = await endpointFor([]);
    const commit = await underWay(
      [`SELECT pg_advisory_xact_lock_shared(hashtextextended('webhook owners', 0))`],
      [
        `INSERT INTO webhook_delivery (id, endpoint_id, type, body) VALUES (gen_random_uuid(), $1, 'approval.requested', '{}')`,
        [endpoint.id],
      ],
    );
    const changing = service.call('PATCH', `/api/webhooks/${endpoint.id}`, {
      key: mallory.key,
      headers: { 'if-match': '"1"' },
      body: { url: `http://127.0.0.1:${receiver.port}/${unique('redirected')}` },
    });
    await settle();
    await commit();
    expect((await changing).status).toBe(200);
    const rows = await stage.sql(`SELECT status FROM webhook_delivery WHERE endpoint_id = $1`, [endpoint.id]);
    expect(rows).toEqual([{ status: 'GIVEN_UP' }]);
  });

  it('gets no message while its owner is being changed', async () => {
    const endpoint = await endpointFor(['approval.*']);
    const commit = await underWay([`SELECT pg_advisory_xact_lock(hashtextextended('webhook owners', 0))`]);
    const { key } = await newGuardedKey(place, [{ members: [await newApprover(place)], threshold: 1 }]);
    await held(place, { digest: digestOf(unique('held')), key: key.name });
    await settle();
    const queued = () => place.stage.sql(`SELECT FROM webhook_delivery WHERE endpoint_id = $1`, [endpoint.id]);
    expect(await queued()).toHaveLength(0);
    await commit();
    await until('the message', 20, async () => (await queued()).length > 0);
  });

  it('of a limited API key receives only events about its signing keys', async () => {
    const { service, apiKey } = place;
    const prefix = unique('release');
    const { body: limited } = await service.call('POST', '/api/settings/api-keys', {
      key: apiKey,
      body: {
        name: unique('limited'),
        permissions: ['signing-keys:read', 'webhooks:read', 'webhooks:write'],
        expiry: inDays(1),
        keys: [`${prefix}-*`],
      },
    });
    const endpoint = await endpointFor(['signing-key.*'], limited.key);
    await createKey(service, apiKey, { name: unique('other'), type: 'ec-p256' });
    const key = await createKey(service, apiKey, { name: `${prefix}-1`, type: 'ec-p256' });
    await receiver.calls(endpoint.path);
    expect(eventsAt(receiver, endpoint).map(({ data }) => data.keyId)).toEqual([key.id]);
  });
});
