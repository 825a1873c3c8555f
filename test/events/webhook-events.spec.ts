import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Approver,
  type ApprovalFixture,
  held,
  newApprover,
  newGuardedKey,
  unique,
  vote,
} from '../approvals/approvers.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { newApiKey } from '../support/access.js';
import { shippedDocument } from '../support/api-document.js';
import { assertProblem } from '../support/refused-calls.js';
import { createKey, digestOf, read, sign, until } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import {
  ALLOWED,
  createEndpoint,
  eventsAt,
  latest,
  openEndpoint,
  readFeed,
  type SeenEvent,
  type TestEndpoint,
  verified,
} from './event-endpoints.js';

const receiver = new WebReceiver();
let place: ApprovalFixture;
let ann: Approver;

beforeAll(async () => {
  await receiver.start();
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ settings: ALLOWED }) };
  ann = await newApprover(place);
});
afterAll(async () => {
  await place.stage.close();
  await receiver.stop();
});

const endpointFor = (events: string[], key = place.apiKey) => openEndpoint(place.service, key, receiver, events);
/** Waits for an event about a request and returns the types of all events about the request. */
const eventsAbout = (endpoint: TestEndpoint, requestId: string, last: string) =>
  until(`the event ${last}`, 20, async () => {
    const types = eventsAt(receiver, endpoint)
      .filter(({ data }) => data.requestId === requestId)
      .map(({ type }) => type);
    return types.includes(last) && types;
  });
const guardedKey = () => newGuardedKey(place, [{ members: [ann], threshold: 1 }]);
const heldRequest = async () => {
  const { key } = await guardedKey();
  return held(place, { digest: digestOf(unique('held')), key: key.name, reference: 'build 1' });
};
/** Requests signatures with one key that requires approval. */
const heldRequests = async (count: number) => {
  const { key } = await guardedKey();
  const one = () => held(place, { digest: digestOf(unique('held')), key: key.name, reference: 'build 1' });
  return Promise.all(Array.from({ length: count }, one));
};
/** Signs a digest with an API key and returns the ID of the request. */
const signOne = async (key = place.apiKey): Promise<string> => {
  const { status, body } = await sign(place.service, {
    key,
    body: { key: 'default', digest: digestOf(unique('one')) },
  });
  expect(status).toBe(200);
  return body.requestId as string;
};
const settle = () => new Promise((resolve) => setTimeout(resolve, 4000));

describe('a signing request', () => {
  it('produces exactly one event, whether or not the caller waits', async () => {
    const endpoint = await endpointFor(['signing-request.*']);
    const bodies = [{ async: true }, {}].map((more) => ({
      key: 'default',
      digest: digestOf(unique('one')),
      reference: 'r 1',
      ...more,
    }));
    const answers = await Promise.all(bodies.map((body) => sign(place.service, { key: place.apiKey, body })));
    for (const { body } of answers) {
      expect(await eventsAbout(endpoint, body.requestId, 'signing-request.signed')).toEqual(['signing-request.signed']);
      const [event] = eventsAt(receiver, endpoint).filter(({ data }) => data.requestId === body.requestId);
      expect(event?.data).toMatchObject({
        key: 'default',
        reference: 'r 1',
        requester: { kind: 'api-key' },
        format: 'raw',
      });
      const { body: signed } = await read(place.service, place.apiKey, body.requestId);
      expect(event?.data.signatureSha256).toBe(digestOf(Buffer.from(signed.signature, 'base64')));
    }
    await settle();
    expect(eventsAt(receiver, endpoint)).toHaveLength(2);
  });

  it('produces an event when it becomes pending, is signed, is rejected, is withdrawn, expires and fails', async () => {
    const endpoint = await endpointFor(['signing-request.*']);
    const { service, stage, apiKey } = place;
    // The requests are made one after another, because each of them adds a policy.
    const signed = await heldRequest();
    const rejected = await heldRequest();
    const withdrawn = await heldRequest();
    const expired = await heldRequest();
    await vote(service, signed.approvalId, ann);
    await vote(service, rejected.approvalId, ann, { decision: 'reject', body: { comment: 'no' } });
    await service.call('POST', `/api/v1/approvals/${withdrawn.approvalId}/withdraw`, { key: apiKey });
    await stage.sql(`UPDATE approval SET expires_at = now() WHERE id = $1`, [expired.approvalId]);
    const { key } = await guardedKey();
    const failed = await held(place, { digest: digestOf(unique('held')), key: key.name });
    await service.call('POST', `/api/v1/signing-keys/${key.id}/disable`, { key: apiKey });
    const ends = { signed, rejected, withdrawn, expired, failed };
    for (const [end, { requestId }] of Object.entries(ends))
      expect([end, await eventsAbout(endpoint, requestId, `signing-request.${end}`)]).toEqual([
        end,
        ['signing-request.waiting', `signing-request.${end}`],
      ]);
    const waiting = eventsAt(receiver, endpoint).find(({ data }) => data.requestId === signed.requestId);
    expect(waiting?.data).toMatchObject({ approvalId: signed.approvalId, reference: 'build 1' });
  });
});

describe('messages', () => {
  it('about one subject arrive in order, although the receiver fails, while other subjects go ahead', async () => {
    const endpoint = await endpointFor(['signing-request.*']);
    const late = await heldRequest();
    let isFailing = true;
    receiver.reactsAt(endpoint.path, (response, call) =>
      response.writeHead(isFailing && call.body.includes(late.requestId) ? 500 : 200).end(),
    );
    const others = await heldRequests(8);
    await Promise.all([late, ...others].map(({ approvalId }) => vote(place.service, approvalId, ann)));
    for (const { requestId } of others) await eventsAbout(endpoint, requestId, 'signing-request.signed');
    const typesOf = (requestId: string) =>
      eventsAt(receiver, endpoint)
        .filter(({ data }) => data.requestId === requestId)
        .map(({ type }) => type);
    for (const { requestId } of others)
      expect(typesOf(requestId)).toEqual(['signing-request.waiting', 'signing-request.signed']);
    await settle();
    expect(new Set(typesOf(late.requestId))).toEqual(new Set(['signing-request.waiting']));
    isFailing = false;
    await place.stage.sql(
      `UPDATE webhook_delivery SET next_try_at = now() WHERE status = 'PENDING' AND endpoint_id = $1`,
      [endpoint.id],
    );
    const types = await eventsAbout(endpoint, late.requestId, 'signing-request.signed');
    expect(types.at(-2)).toBe('signing-request.waiting');
    expect(types.indexOf('signing-request.signed')).toBe(types.length - 1);
  });

  it('are delivered at least once to a receiver that resets connections, responds late, or loses its responses', async () => {
    const endpoint = await endpointFor(['signing-request.signed']);
    const reactions = [
      (response: { destroy(): void }) => response.destroy(),
      (response: { writeHead(status: number): { end(): void } }) =>
        setTimeout(() => response.writeHead(200).end(), 3000),
    ];
    receiver.reactsAt(endpoint.path, (response) => (reactions.shift() ?? (() => response.end()))(response));
    const requests = await Promise.all([signOne(), signOne()]);
    for (const requestId of requests) await eventsAbout(endpoint, requestId, 'signing-request.signed');
    const calls = await receiver.calls(endpoint.path, 3);
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
    expect(new Set(calls.map((call) => verified(endpoint, call).id)).size).toBe(2);
  });

  it('stop after 410, and continue with later events when the endpoint is enabled again', async () => {
    const endpoint = await endpointFor(['signing-request.signed']);
    receiver.answersAt(endpoint.path, 410, 200);
    const first = await signOne();
    const path = `/api/webhooks/${endpoint.id}`;
    const disabled = await until('the endpoint is disabled', 20, async () => {
      const answer = await place.service.call('GET', path, { key: place.apiKey });
      return !answer.body.enabled && answer;
    });
    const unseen = await signOne();
    await settle();
    const headers = { 'if-match': disabled.headers.get('etag') ?? '' };
    await place.service.call('PATCH', path, { key: place.apiKey, headers, body: { enabled: true } });
    const last = await signOne();
    await eventsAbout(endpoint, last, 'signing-request.signed');
    const seen = eventsAt(receiver, endpoint).map(({ data }) => data.requestId);
    expect(seen).toEqual([first, last]);
    expect(seen).not.toContain(unseen);
  });

  it('do not contain the secret, and a deleted endpoint does not delay others', async () => {
    const [deleted, other] = [await endpointFor(['signing-key.*']), await endpointFor(['signing-key.created'])];
    await place.service.call('DELETE', `/api/webhooks/${deleted.id}`, { key: place.apiKey });
    const key = await createKey(place.service, place.apiKey, { name: unique('key'), type: 'ec-p256' });
    const [call] = await receiver.calls(other.path);
    expect(verified(other, call!)).toMatchObject({
      type: 'signing-key.created',
      data: { keyId: key.id, name: key.name, type: 'ec-p256' },
    });
    const secret = other.secret.slice('whsec_'.length);
    for (const text of [secret, Buffer.from(secret, 'base64').toString('hex')])
      expect(JSON.stringify(call)).not.toContain(text);
    expect(receiver.received.some(({ path }) => path === deleted.path)).toBe(false);
  });

  it('have the same IDs and the same order as the list of events', async () => {
    const after = await latest(place.service, place.apiKey);
    const endpoint = await endpointFor(['signing-request.*', 'signing-key.*']);
    const requests = await heldRequests(10);
    await Promise.all(requests.map(({ approvalId }) => vote(place.service, approvalId, ann)));
    for (const { requestId } of requests) await eventsAbout(endpoint, requestId, 'signing-request.signed');
    const { events } = await readFeed(place.service, place.apiKey, { after, types: 'signing-request.*,signing-key.*' });
    const seen = eventsAt(receiver, endpoint);
    const bySubject = (list: readonly SeenEvent[]) =>
      Map.groupBy(list, ({ data }) => (data.requestId ?? data.keyId) as string);
    expect(seen).toHaveLength(events.length);
    for (const [subject, about] of bySubject(events))
      expect(
        bySubject(seen)
          .get(subject)
          ?.map(({ id, type, data }) => ({ id, type, data })),
      ).toEqual(about.map(({ id, type, data }) => ({ id, type, data })));
  });
});

describe('an endpoint', () => {
  it('receives only what its owner may read', async () => {
    // The key belongs to another administrator, so the key must not be able to read the first key's requests.
    const other = await newApprover(place, ['admin']);
    const hooks = ['webhooks:read', 'webhooks:write', 'sign:read', 'sign:digest'];
    const limited = await newApiKey(place.service, other.accessToken, hooks);
    const endpoint = await endpointFor(['*'], limited.key);
    const foreign = await signOne();
    const { requestId: waiting } = await heldRequest();
    const mine = await signOne(limited.key);
    await eventsAbout(endpoint, mine, 'signing-request.signed');
    await settle();
    const seen = eventsAt(receiver, endpoint);
    expect(seen.map(({ type, data }) => [type, data.requestId])).toEqual([['signing-request.signed', mine]]);
    expect([foreign, waiting]).not.toContain(mine);
  });

  it('cannot subscribe to events that its owner may not receive', async () => {
    const limited = await newApiKey(place.service, place.apiKey, ['webhooks:read', 'webhooks:write', 'sign:read']);
    const refused = await createEndpoint(place.service, limited.key, receiver, [
      'signing-request.*',
      'alert.*',
      'sign-in.failed',
    ]);
    assertProblem(refused, { status: 403, code: 'webhook.event-forbidden', pointer: '/events/1' });
    expect(refused.body.errors).toMatchObject([{ pointer: '/events/1' }, { pointer: '/events/2' }]);
    expect((await createEndpoint(place.service, limited.key, receiver, ['*'])).status).toBe(201);
    const { body } = await createEndpoint(place.service, limited.key, receiver, ['signing-request.signed']);
    const change = { key: limited.key, headers: { 'if-match': '"1"' }, body: { events: ['approval.approved'] } };
    assertProblem(await place.service.call('PATCH', `/api/webhooks/${body.id}`, change), {
      status: 403,
      code: 'webhook.event-forbidden',
      pointer: '/events/0',
    });
  });

  it('of a person who has left stops, with its pending messages, and belongs to whoever enables it', async () => {
    const leaver = await newApprover(place, ['admin']);
    const endpoint = await endpointFor(['signing-request.signed', 'alert.*'], leaver.accessToken);
    receiver.answersAt(endpoint.path, 503);
    await signOne();
    await receiver.calls(endpoint.path);
    const patch = { key: place.apiKey, body: { disabled: true } };
    await place.service.call('PATCH', `/api/settings/users/${leaver.id}`, patch);
    const path = `/api/webhooks/${endpoint.id}`;
    const ended = await until('the endpoint is disabled', 5, async () => {
      const answer = await place.service.call('GET', path, { key: place.apiKey });
      return !answer.body.enabled && answer;
    });
    expect(ended.body).toMatchObject({ ownerId: leaver.id, disabledReason: expect.stringContaining('webhooks:write') });
    const before = receiver.received.filter((call) => call.path === endpoint.path).length;
    const { body: sent } = await place.service.call('GET', `${path}/deliveries`, { key: place.apiKey });
    expect(sent.items.map(({ status }: { status: string }) => status)).toEqual(['GIVEN_UP']);
    await signOne();
    await settle();
    expect(receiver.received.filter((call) => call.path === endpoint.path)).toHaveLength(before);
    receiver.answersAt(endpoint.path, 200);
    const headers = { 'if-match': ended.headers.get('etag') ?? '' };
    const { body } = await place.service.call('PATCH', path, { key: place.apiKey, headers, body: { enabled: true } });
    expect(body).toMatchObject({ enabled: true, disabledReason: null });
    expect(body.ownerId).not.toBe(leaver.id);
    await eventsAbout(endpoint, await signOne(), 'signing-request.signed');
  });

  it('belongs to whoever sets its URL, so that nobody redirects events that only others may read', async () => {
    const endpoint = await endpointFor(['signing-request.signed']);
    const other = await newApprover(place, ['admin']);
    const limited = await newApiKey(place.service, other.accessToken, ['webhooks:write', 'webhooks:read', 'sign:read']);
    const url = `http://127.0.0.1:${receiver.port}/${unique('redirected')}`;
    const path = `/api/webhooks/${endpoint.id}`;
    const change = { key: limited.key, headers: { 'if-match': '"1"' }, body: { url } };
    const { body } = await place.service.call('PATCH', path, change);
    expect(body).toMatchObject({ url, ownerId: other.id });
    await signOne();
    await settle();
    expect(receiver.received.some((call) => url.endsWith(call.path))).toBe(false);
  });

  it('of an earlier version receives the earlier events and no others, until somebody takes it over', async () => {
    const endpoint = await endpointFor(['*']);
    await place.stage.sql(
      `UPDATE webhook_endpoint SET givers = NULL, owner_id = NULL, feed_position = NULL WHERE id = $1`,
      [endpoint.id],
    );
    const { requestId, approvalId } = await heldRequest();
    await vote(place.service, approvalId, ann);
    const approvals = await until('the approval', 20, async () => {
      const seen = eventsAt(receiver, endpoint).filter(({ data }) => data.approvalId === approvalId);
      return seen.some(({ type }) => type === 'approval.approved') && seen;
    });
    expect(approvals.map(({ type }) => type)).toEqual(['approval.requested', 'approval.approved']);
    await settle();
    expect(eventsAt(receiver, endpoint).some(({ data }) => data.requestId === requestId)).toBe(false);
    const path = `/api/webhooks/${endpoint.id}`;
    const shown = await place.service.call('GET', path, { key: place.apiKey });
    expect(shown.body.ownerId).toBe(null);
    const headers = { 'if-match': shown.headers.get('etag') ?? '' };
    await place.service.call('PATCH', path, { key: place.apiKey, headers, body: { events: ['*'] } });
    const taken = await signOne();
    await eventsAbout(endpoint, taken, 'signing-request.signed');
  });

  it('has a position in the log only if it subscribes to events of the log', async () => {
    const endpoint = await endpointFor(['alert.*']);
    const [row] = await place.stage.sql<{ position: string | null }>(
      `SELECT feed_position AS position FROM webhook_endpoint WHERE id = $1`,
      [endpoint.id],
    );
    expect(row?.position).toBe(null);
  });

  it('that accepts nothing has a bounded number of pending messages, and loses no event', async () => {
    const endpoint = await endpointFor(['signing-request.signed']);
    receiver.answersAt(endpoint.path, 503);
    // Simulates a backlog, because a thousand signatures would take too long.
    await place.stage.sql(
      `INSERT INTO webhook_delivery (id, endpoint_id, type, body, next_try_at)
       SELECT gen_random_uuid(), $1, 'webhook.test', '{}', now() + interval '1 day' FROM generate_series(1, 1000)`,
      [endpoint.id],
    );
    const requestId = await signOne();
    await settle();
    const pending = () =>
      place.stage.sql<{ type: string }>(
        `SELECT type FROM webhook_delivery WHERE endpoint_id = $1 AND type <> 'webhook.test'`,
        [endpoint.id],
      );
    expect(await pending()).toEqual([]);
    receiver.answersAt(endpoint.path, 200);
    await place.stage.sql(`UPDATE webhook_delivery SET status = 'GIVEN_UP', ended_at = now() WHERE endpoint_id = $1`, [
      endpoint.id,
    ]);
    await eventsAbout(endpoint, requestId, 'signing-request.signed');
  });
});

describe('tests of every event', () => {
  it('send the example of the catalogue, marked as a test', async () => {
    const { body: catalogue } = await place.service.call('GET', '/api/v1/event-types', { key: place.apiKey });
    const document = shippedDocument();
    const endpoint = await endpointFor([]);
    for (const { name, schema, example } of catalogue.items as { name: string; schema: string; example: SeenEvent }[]) {
      const answer = await place.service.call('POST', `/api/webhooks/${endpoint.id}/test`, {
        key: place.apiKey,
        body: { type: name },
      });
      expect([name, answer.status]).toEqual([name, 202]);
      expect(example.type).toBe(name);
      const described = document.components.schemas[schema.split('/').at(-1) ?? ''];
      expect(Object.keys(described.properties.data.properties)).toEqual(Object.keys(example.data));
      expect(document.webhooks[name].post.requestBody.content['application/json'].schema.$ref).toBe(schema);
    }
    const calls = await receiver.calls(endpoint.path, catalogue.items.length);
    const seen = calls.map((call) => verified(endpoint, call));
    for (const { name, example } of catalogue.items)
      expect(seen.find(({ type }) => type === name)).toMatchObject({ test: true, data: example.data });
    const unknown = { key: place.apiKey, body: { type: 'signing-request.done' } };
    assertProblem(await place.service.call('POST', `/api/webhooks/${endpoint.id}/test`, unknown), {
      status: 400,
      code: 'request.invalid',
      pointer: '/type',
    });
  });
});
