import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReceivedCall, WebReceiver } from '../fakes/web-receiver.js';
import { EVENT_SUBSCRIPTIONS } from '../../src/events/catalogue/event-catalogue.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const receiver = new WebReceiver();
const ALLOWED = { SVC_OUTBOUND_ALLOW: '127.0.0.1/32' };
let stage: Stage;
let service: Service;
let key: string;

beforeAll(async () => {
  await receiver.start();
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start({ settings: ALLOWED });
});
afterAll(async () => {
  await stage.close();
  await receiver.stop();
});

let made = 0;
const create = (path: string, more: object = {}, headers = {}) => {
  const url = `http://127.0.0.1:${receiver.port}${path}`;
  return service.call('POST', '/api/webhooks', {
    key,
    headers,
    body: { name: `endpoint ${(made += 1)}`, url, ...more },
  });
};
const test = (id: string, where = service) => where.call('POST', `/api/webhooks/${id}/test`, { key });
const deliveries = async (id: string, where = service) =>
  (await where.call('GET', `/api/webhooks/${id}/deliveries`, { key })).body.items;
const delivery = (id: string, status: string) =>
  until(`a delivery that is ${status}`, 30, async () => {
    const [newest] = await deliveries(id);
    return newest?.status === status && newest;
  });
const verify = (secret: string, { body, headers }: ReceivedCall) =>
  new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;

describe.concurrent('a webhook endpoint', () => {
  it('receives messages that the published library verifies, and forged messages are detected', async () => {
    const { status, body } = await create('/signed');
    expect(status).toBe(201);
    expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await test(body.id)).status).toBe(202);
    const [call] = await receiver.calls('/signed');
    expect(verify(body.secret, call!)).toMatchObject({ type: 'webhook.test', timestamp: expect.any(String) });
    expect(() => verify(body.secret, { ...call!, body: `${call!.body} ` })).toThrow(/signature/i);
    expect(() => verify('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', call!)).toThrow(/signature/i);
    const logged = await delivery(body.id, 'DELIVERED');
    expect(logged).toMatchObject({ id: call!.headers['webhook-id'], attempts: 1, log: [{ attempt: 1, status: 200 }] });
  });

  it('never returns its secret', async () => {
    const { body } = await create('/secret?token=t0psecret');
    const shown = await service.call('GET', `/api/webhooks/${body.id}`, { key });
    expect(shown.body.url).toBe(`http://127.0.0.1:${receiver.port}/secret`);
    const everything = JSON.stringify(await stage.sql(`SELECT * FROM webhook_endpoint`)) + service.log();
    for (const secret of ['t0psecret', body.secret.slice(6, 40)])
      expect(JSON.stringify(shown.body) + everything).not.toContain(secret);
  });

  it('receives two signatures while its secret is rotated', async () => {
    const { body } = await create('/rotated');
    const rotated = await service.call('POST', `/api/webhooks/${body.id}/secret`, { key, body: { overlapHours: 1 } });
    expect(rotated.body.secret).not.toBe(body.secret);
    await test(body.id);
    const [call] = await receiver.calls('/rotated');
    expect(verify(body.secret, call!)).toEqual(verify(rotated.body.secret, call!));
    const again = await service.call('POST', `/api/webhooks/${body.id}/secret`, { key, body: { overlapHours: 0 } });
    await test(body.id);
    const [, last] = await receiver.calls('/rotated', 2);
    expect(() => verify(rotated.body.secret, last!)).toThrow(/signature/i);
    expect(verify(again.body.secret, last!)).toBeDefined();
  });

  it('receives signatures of every secret that may be in use, because the response with the latest may have been lost', async () => {
    const { body } = await create('/lost');
    const renew = (overlapHours: number) =>
      service.call('POST', `/api/webhooks/${body.id}/secret`, { key, body: { overlapHours } });
    const secrets = [body.secret];
    for (let i = 0; i < 4; i += 1) secrets.push((await renew(1)).body.secret);
    assertProblem(await renew(1), { status: 409, code: 'webhook.secrets' });
    await test(body.id);
    const [call] = await receiver.calls('/lost');
    for (const secret of secrets) expect(verify(secret, call!)).toBeDefined();
    const only = (await renew(0)).body.secret;
    await test(body.id);
    const [, last] = await receiver.calls('/lost', 2);
    for (const secret of secrets) expect(() => verify(secret, last!)).toThrow(/signature/i);
    expect(verify(only, last!)).toBeDefined();
  });

  it('is created once per Idempotency-Key, and updated only with its current ETag', async () => {
    const headers = { 'idempotency-key': 'one' };
    const name = { name: 'once' };
    const first = await create('/once', name, headers);
    assertProblem(await create('/once', name, headers), { status: 409, code: 'idempotency.secret-shown' });
    assertProblem(await create('/once', name), { status: 409, code: 'webhook.name' });
    const path = `/api/webhooks/${first.body.id}`;
    const change = (match: Record<string, string>) =>
      service.call('PATCH', path, { key, headers: match, body: { events: ['approval.*'] } });
    assertProblem(await change({}), { status: 428, code: 'request.if-match-missing' });
    assertProblem(await change({ 'if-match': '"7"' }), { status: 412, code: 'request.stale' });
    const seen = (await service.call('GET', path, { key })).headers.get('etag') ?? '';
    const [one, two] = await Promise.all([change({ 'if-match': seen }), change({ 'if-match': seen })]);
    expect(new Set([one.status, two.status])).toEqual(new Set([200, 412]));
  });

  it('rejects an unknown event with the closest match and all valid names', async () => {
    const answer = await create('/unknown', { events: ['alert.*', 'rotations.*', 'approval.request'] });
    assertProblem(answer, { status: 422, code: 'webhook.event-unknown', pointer: '/events/1' });
    expect(answer.body.errors).toMatchObject([
      { pointer: '/events/1' },
      { pointer: '/events/2', detail: expect.stringContaining('Did you mean "approval.requested"?') },
    ]);
    for (const name of EVENT_SUBSCRIPTIONS) expect(answer.body.detail).toContain(name);
    const { body } = await create('/known', { events: [...EVENT_SUBSCRIPTIONS] });
    expect(body).toMatchObject({ events: EVENT_SUBSCRIPTIONS, eventsWithoutEffect: [] });
    const change = { key, headers: { 'if-match': '"1"' }, body: { events: ['hosts.rebooted'] } };
    assertProblem(await service.call('PATCH', `/api/webhooks/${body.id}`, change), {
      status: 422,
      code: 'webhook.event-unknown',
      pointer: '/events/0',
    });
    // Simulates an endpoint stored by a version that accepted any event name.
    await stage.sql(`UPDATE webhook_endpoint SET events = '{alert.*,rotations.*}' WHERE id = $1`, [body.id]);
    const stored = await service.call('GET', `/api/webhooks/${body.id}`, { key });
    expect(stored.body).toMatchObject({ events: ['alert.*', 'rotations.*'], eventsWithoutEffect: ['rotations.*'] });
  });

  it.each([
    ['https://127.0.0.2/', 'loopback'],
    ['https://169.254.169.254/latest/meta-data/', 'link-local'],
    ['https://[::ffff:10.0.0.1]/', 'IPv4-mapped'],
    ['http://198.41.0.4/', 'HTTPS'],
    ['ftp://198.41.0.4/', 'HTTPS'],
  ])('cannot have %s as its URL', async (url, why) => {
    const answer = await create('', { url });
    assertProblem(answer, { status: 422, code: 'webhook.target', pointer: '/url' });
    expect(answer.body.detail).toContain(why);
  });
});

describe.concurrent('a webhook message', () => {
  it('is retried after five seconds, with the same ID and a new signature', async () => {
    receiver.answersAt('/retried', 503, 500, 200);
    const { body } = await create('/retried');
    await test(body.id);
    const calls = await receiver.calls('/retried', 2);
    expect(calls.map((call) => verify(body.secret, call))).toHaveLength(2);
    expect(calls[0]!.headers['webhook-id']).toBe(calls[1]!.headers['webhook-id']);
    const [row] = await deliveries(body.id);
    expect(row.log[0]).toMatchObject({ attempt: 1, status: 503, failure: 'the receiver responded with 503' });
    // The third attempt would be due after five minutes. The test makes the attempt due immediately.
    await until('the second outcome', 30, async () => (await deliveries(body.id))[0].log.length === 2);
    await stage.sql(`UPDATE webhook_delivery SET next_try_at = now() WHERE id = $1`, [row.id]);
    expect(await delivery(body.id, 'DELIVERED')).toMatchObject({ attempts: 3 });
  });

  it('does not follow redirects', async () => {
    receiver.reactsAt('/redirecting', (response) => response.writeHead(302, { location: '/elsewhere' }).end());
    const { body } = await create('/redirecting');
    await test(body.id);
    await receiver.calls('/redirecting');
    await until('the outcome', 30, async () => (await deliveries(body.id))[0].log[0]?.status === 302);
    expect(receiver.received.some(({ path }) => path === '/elsewhere')).toBe(false);
  });

  it('answered with 410 is the last one', async () => {
    receiver.answersAt('/gone', 410);
    const { body } = await create('/gone');
    await test(body.id);
    await delivery(body.id, 'GIVEN_UP');
    const shown = await until('the end of the endpoint', 30, async () => {
      const answer = await service.call('GET', `/api/webhooks/${body.id}`, { key });
      return !answer.body.enabled && answer;
    });
    expect(shown.body.disabledReason).toContain('410');
    const { body: log } = await service.call('GET', `/api/v1/audit/entries?action=webhook.disabled&target=${body.id}`, {
      key,
    });
    expect(log.items).toMatchObject([
      { actor: { kind: 'system' }, detail: { reason: expect.stringContaining('410') } },
    ]);
    assertProblem(await test(body.id), { status: 409, code: 'webhook.disabled' });
  });

  it('can be resent with the same ID', async () => {
    const { body } = await create('/again');
    await test(body.id);
    const { id } = await delivery(body.id, 'DELIVERED');
    const again = await service.call('POST', `/api/webhooks/deliveries/${id}/redeliver`, { key });
    expect(again.body).toMatchObject({ id, status: 'PENDING' });
    const calls = await receiver.calls('/again', 2);
    expect(new Set(calls.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
  });

  it('for one endpoint is not delayed by another that does not respond', async () => {
    receiver.reactsAt('/silent', () => undefined);
    const [silent, lively] = [(await create('/silent')).body, (await create('/lively')).body];
    await Promise.all(Array.from({ length: 30 }, () => test(silent.id)));
    await receiver.calls('/silent', 8);
    await test(lively.id);
    await receiver.calls('/lively', 1, 10);
    await service.call('DELETE', `/api/webhooks/${silent.id}`, { key });
  });
});

describe.concurrent('chat messages', () => {
  it('use the Slack and Teams formats, without a signature, and the URL is not returned', async () => {
    const slack = await create('/services/T0/B0/secret', { format: 'slack' });
    const teams = await create('/workflows/secret', { format: 'teams' });
    expect(slack.body).toMatchObject({ url: `http://127.0.0.1:${receiver.port}` });
    expect(slack.body.secret ?? teams.body.secret).toBeUndefined();
    await Promise.all([test(slack.body.id), test(teams.body.id)]);
    const [toSlack] = await receiver.calls('/services/T0/B0/secret');
    expect(toSlack!.headers['webhook-signature']).toBeUndefined();
    expect(JSON.parse(toSlack!.body)).toMatchObject({
      text: expect.stringContaining('test'),
      blocks: [
        { type: 'header', text: { type: 'plain_text' } },
        { type: 'section', text: { type: 'mrkdwn', verbatim: true } },
      ],
    });
    const [toTeams] = await receiver.calls('/workflows/secret');
    expect(JSON.parse(toTeams!.body)).toMatchObject({
      type: 'message',
      attachments: [
        { contentType: 'application/vnd.microsoft.card.adaptive', content: { type: 'AdaptiveCard', version: '1.4' } },
      ],
    });
    const secretless = await service.call('POST', `/api/webhooks/${slack.body.id}/secret`, { key, body: {} });
    assertProblem(secretless, { status: 409, code: 'webhook.no-secret' });
  });
});

describe('a queued webhook message', () => {
  it('survives the loss of the worker that was sending it', async () => {
    receiver.reactsAt('/killed', () => undefined);
    const { body } = await create('/killed');
    await test(body.id);
    await receiver.calls('/killed');
    await service.kill('SIGKILL');
    receiver.answersAt('/killed', 200);
    await stage.sql(`UPDATE webhook_delivery SET next_try_at = now() WHERE status = 'PENDING'`);
    service = await stage.start({ settings: ALLOWED });
    const calls = await receiver.calls('/killed', 2);
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await delivery(body.id, 'DELIVERED')).toMatchObject({ attempts: 2 });
  });

  it('is not sent once its URL is no longer allowed', async () => {
    const { body } = await create('/forbidden');
    await service.kill();
    const strict = await stage.start();
    const { connections } = receiver;
    await test(body.id, strict);
    const [row] = await until('the outcome', 30, async () => {
      const rows = await deliveries(body.id, strict);
      return rows[0]?.log.length > 0 && rows;
    });
    expect(row.log[0].failure).toContain('the address of the target is not allowed');
    expect(receiver.connections).toBe(connections);
    await strict.kill();
    service = await stage.start({ settings: ALLOWED });
  });
});
