import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebReceiver } from '../fakes/web-receiver.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { newApiKey } from '../support/access.js';
import { about, bom } from '../inventory/documents.js';
import { CAUSES, certificate, MAY_CALL } from './causes.js';
import { failedScan, hurryAlerts, recordAlertEvent } from './alert-events.js';

const SKEW = join(import.meta.dirname, '../fakes/skewed-clock.mjs');
const receiver = new WebReceiver();
let stage: Stage;
let service: Service;
let key: string;
let hurry: NodeJS.Timeout;

beforeAll(async () => {
  await receiver.start();
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start({ settings: MAY_CALL });
  hurry = hurryAlerts(stage);
});
afterAll(async () => {
  clearInterval(hurry);
  await stage.close();
  await receiver.stop();
});

let rules = 0;
const createRule = (body: object, headers = {}) =>
  service.call('POST', '/api/alert-rules', { key, headers, body: { name: `rule ${(rules += 1)}`, ...body } });
const alerts = async (query: string) => {
  const { status, body } = await service.call('GET', `/api/alerts?limit=200&${query}`, { key });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.items;
};
const alertOf = (rule: string, id?: string) =>
  until(`an alert of ${rule}`, 30, async () =>
    (await alerts(`rule=${rule}`)).find(
      (item: { subject: { id: string } }) => id === undefined || item.subject.id === id,
    ),
  );
const move = (id: string, what: string, body: object = {}) =>
  service.call('POST', `/api/alerts/${id}/${what}`, { key, body });
const createEndpoint = (path: string) => {
  const url = `http://127.0.0.1:${receiver.port}${path}`;
  return service.call('POST', '/api/webhooks', { key, body: { name: path, url } });
};
const endpoint = async (path: string) => (await createEndpoint(path)).body.id as string;
const told = (path: string) =>
  receiver.received
    .filter((call) => call.path === path)
    .map(({ body }) => JSON.parse(body) as { type: string; data: object });

describe('an alert rule', () => {
  it.each([
    [{ condition: 'risk-threshold' }, 422, 'alert-rule.parameters', '/parameters/level'],
    [{ condition: 'drift', parameters: { days: 3 } }, 422, 'alert-rule.parameters', '/parameters/days'],
    [{ condition: 'weather' }, 400, 'request.invalid', '/condition'],
    [{ condition: 'drift', emails: ['nobody'] }, 400, 'request.invalid', '/emails'],
    [
      { condition: 'drift', webhooks: ['01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'] },
      422,
      'alert-rule.webhook',
      '/webhooks/0',
    ],
  ])('with %j is rejected', async (body, status, code, pointer) => {
    assertProblem(await createRule(body), { status, code, pointer });
  });

  it.each([
    ['alert_rule', () => createRule({ condition: 'drift' })],
    ['webhook_endpoint', () => createEndpoint('/more')],
  ])('or webhook that the list would not show is rejected: %s', async (table, create) => {
    const first = await create();
    const copied = `jsonb_build_object('id', gen_random_uuid(), 'name', 'copy ' || n, 'enabled', false)`;
    await stage.sql(
      `INSERT INTO ${table} SELECT (jsonb_populate_record(t, ${copied})).* FROM ${table} t, generate_series(1, 500) n WHERE t.id = $1`,
      [first.body.id],
    );
    const refused = await create();
    await stage.sql(`DELETE FROM ${table} WHERE name LIKE 'copy %' OR id = $1`, [first.body.id]);
    assertProblem(refused, { status: 409, code: 'list.full' });
  });

  it('that is predefined is changed or deleted only with settings:write', async () => {
    const { body } = await service.call('GET', '/api/alert-rules', { key });
    const rule = body.items.find(({ condition }: { condition: string }) => condition === 'database-changed');
    const { key: operator } = await newApiKey(service, key, ['alerts:read', 'alerts:write']);
    const path = `/api/alert-rules/${rule.id}`;
    const headers = { 'if-match': `"${rule.version}"` };
    for (const [method, change] of [
      ['PATCH', { enabled: false }],
      ['PATCH', { mutedUntil: '2999-01-01T00:00:00Z' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await service.call(method, path, { key: operator, headers, ...(change && { body: change }) });
      assertProblem(answer, { status: 403, code: 'insufficient_scope' });
      expect(answer.body.scope).toBe('settings:write');
    }
    const muted = await service.call('PATCH', path, { key, headers, body: { coolDownMinutes: 30 } });
    expect(muted.body).toMatchObject({ enabled: true, coolDownMinutes: 30 });
  });

  it('is created once per Idempotency-Key, and updated only with its current ETag', async () => {
    const headers = { 'idempotency-key': 'rule' };
    const body = { name: 'mine', condition: 'drift' };
    const [one, two] = [await createRule(body, headers), await createRule(body, headers)];
    expect(two.body).toEqual(one.body);
    assertProblem(await createRule(body), { status: 409, code: 'alert-rule.name' });
    const change = { key, headers: { 'if-match': '"1"' }, body: { severity: 'critical', coolDownMinutes: 5 } };
    const changed = await service.call('PATCH', `/api/alert-rules/${one.body.id}`, change);
    expect(changed.body).toMatchObject({ severity: 'critical', coolDownMinutes: 5, version: 2 });
    assertProblem(await service.call('PATCH', `/api/alert-rules/${one.body.id}`, change), {
      status: 412,
      code: 'request.stale',
    });
  });

  it('can be tested, and reports if it has no recipients', async () => {
    const silent = await createRule({ condition: 'drift' });
    const answer = await service.call('POST', `/api/alert-rules/${silent.body.id}/test`, { key });
    assertProblem(answer, { status: 409, code: 'alert-rule.no-channel' });
    const rule = await createRule({ condition: 'drift', webhooks: [await endpoint('/tried')] });
    expect((await service.call('POST', `/api/alert-rules/${rule.body.id}/test`, { key })).status).toBe(202);
    await receiver.calls('/tried');
    expect(told('/tried')).toMatchObject([
      { type: 'alert.asked', data: { title: 'Test: A removed key has reappeared' } },
    ]);
    expect(await alerts(`rule=${rule.body.id}`)).toEqual([]);
  });
});

describe('an alert', () => {
  it('is opened, acknowledged, resolved and reopened', async () => {
    const rule = (
      await createRule({ condition: 'scan-failed', coolDownMinutes: 0, webhooks: [await endpoint('/life')] })
    ).body;
    await recordAlertEvent(stage, failedScan('life'));
    const { id } = await alertOf(rule.id, 'life');
    await receiver.calls('/life', 1);
    const both = await Promise.all([move(id, 'acknowledge', { comment: 'on it' }), move(id, 'acknowledge')]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]));
    assertProblem(
      both.find(({ status }) => status === 409)!,
      { status: 409, code: 'alert.status' },
    );
    // An acknowledged alert still counts events but sends no further notifications.
    await recordAlertEvent(stage, failedScan('life'), 3);
    await until('four', 30, async () => (await alertOf(rule.id, 'life')).count === 4);
    expect((await move(id, 'resolve')).body).toMatchObject({
      status: 'RESOLVED',
      resolvedBy: expect.stringMatching(/\w/),
    });
    await recordAlertEvent(stage, failedScan('life'));
    await receiver.calls('/life', 2);
    expect(await alertOf(rule.id, 'life')).toMatchObject({ id, status: 'REOPENED', count: 5 });
    expect(told('/life').map(({ type }) => type)).toEqual(['alert.opened', 'alert.reopened']);
    const { body } = await service.call('GET', `/api/v1/audit/entries?target=${id}`, { key });
    expect(body.items.map(({ action }: { action: string }) => action)).toEqual([
      'alert.resolved',
      'alert.acknowledged',
    ]);
  });

  it('that continues counts once, stays resolved manually, and ends on its own', async () => {
    const rule = (
      await createRule({ condition: 'sensor-silent', coolDownMinutes: 0, webhooks: [await endpoint('/lasting')] })
    ).body;
    const silent = { type: 'sensor.silent', subject: { kind: 'sensor', id: 's1', name: 'east' } } as const;
    await recordAlertEvent(stage, silent, 5);
    const { id } = await alertOf(rule.id);
    await receiver.calls('/lasting', 1);
    expect(await alertOf(rule.id)).toMatchObject({ count: 1, status: 'OPEN' });
    await recordAlertEvent(stage, { ...silent, over: true });
    await receiver.calls('/lasting', 2);
    expect(await alertOf(rule.id)).toMatchObject({ id, status: 'RESOLVED', resolvedBy: null });
    await recordAlertEvent(stage, silent);
    await receiver.calls('/lasting', 3);
    await move(id, 'resolve');
    await recordAlertEvent(stage, silent);
    await until('nothing left', 30, async () => (await stage.sql(`SELECT 1 FROM happening`)).length === 0);
    expect(await alertOf(rule.id)).toMatchObject({ status: 'RESOLVED', count: 2 });
    expect(told('/lasting').map(({ type }) => type)).toEqual(['alert.opened', 'alert.resolved', 'alert.reopened']);
  });

  it('that was resolved while the clock was ahead is reopened by the next event', async () => {
    const hour = { NODE_OPTIONS: `--import ${SKEW}`, SKEW_MS: '3600000' };
    const ahead = await stage.start({ role: 'api', settings: hour });
    const { body: rule } = await createRule({ condition: 'scan-failed', coolDownMinutes: 0 });
    await recordAlertEvent(stage, failedScan('ahead'));
    const { id } = await alertOf(rule.id, 'ahead');
    expect((await ahead.call('POST', `/api/alerts/${id}/resolve`, { key, body: {} })).status).toBe(200);
    await recordAlertEvent(stage, failedScan('ahead'));
    const status = async () => (await alertOf(rule.id, 'ahead')).status === 'REOPENED';
    await until('the alert to be open again', 15, status);
    await ahead.kill();
  });

  it('is sent whatever a sensor reports, and so are subsequent alerts', async () => {
    const hook = await endpoint('/long');
    const rule = await createRule({ condition: 'scan-failed', webhooks: [hook], coolDownMinutes: 0 });
    const loud = Object.fromEntries(['where', 'why', 'a', 'b', 'c'].map((name) => [name, '\u0001'.repeat(1000)]));
    await recordAlertEvent(stage, failedScan('loud', loud));
    await alertOf(rule.body.id, 'loud');
    await recordAlertEvent(stage, failedScan('quiet'));
    const subjects = () => told('/long').map(({ data }) => (data as { subject: { id: string } }).subject.id);
    await until('both to be told', 20, async () => new Set(subjects()).size === 2);
  });

  it('is muted, and sent when the mute expires', async () => {
    const rule = (await createRule({ condition: 'scan-failed', webhooks: [await endpoint('/muted')] })).body;
    const until1h = new Date(Date.now() + 3_600_000).toISOString();
    const path = `/api/alert-rules/${rule.id}`;
    await service.call('PATCH', path, { key, headers: { 'if-match': '"1"' }, body: { mutedUntil: until1h } });
    await recordAlertEvent(stage, failedScan('muted'));
    const { id } = await alertOf(rule.id, 'muted');
    await until('a notification that waits', 30, async () => {
      const [row] = await stage.sql<{ late: boolean }>(
        `SELECT notify_at > now() + interval '50 minutes' AS late FROM alert WHERE id = $1`,
        [id],
      );
      return row?.late;
    });
    expect(told('/muted')).toEqual([]);
    await stage.sql(`UPDATE alert_rule SET muted_until = now() WHERE id = $1`, [rule.id]);
    await stage.sql(`UPDATE alert SET notify_at = now() WHERE id = $1`, [id]);
    await receiver.calls('/muted', 1);
  });

  it('has an owner who can sign in, and can be resent manually', async () => {
    const rule = (await createRule({ condition: 'scan-failed', webhooks: [await endpoint('/owned')] })).body;
    await recordAlertEvent(stage, failedScan('owned'));
    const { id, version } = await alertOf(rule.id, 'owned');
    const [person] = await stage.sql<{ id: string }>(`SELECT id FROM user_account LIMIT 1`);
    const headers = { 'if-match': `"${version}"` };
    const change = (ownerId: string | null) =>
      service.call('PATCH', `/api/alerts/${id}`, { key, headers, body: { ownerId } });
    assertProblem(await change(rule.id), { status: 422, code: 'alert.owner' });
    expect((await change(person!.id)).body.ownerId).toBe(person!.id);
    assertProblem(await change(null), { status: 412, code: 'request.stale' });
    expect((await alerts(`owner=${person!.id}`)).map((alert: { id: string }) => alert.id)).toEqual([id]);
    await receiver.calls('/owned', 1);
    expect((await move(id, 'notify')).status).toBe(202);
    await receiver.calls('/owned', 2);
    const notifications = async () =>
      (await service.call('GET', `/api/alerts/${id}/notifications`, { key })).body.items;
    const shown = await notifications();
    expect(shown.map(({ reason }: { reason: string }) => reason)).toEqual(['asked', 'opened']);
    // A delivery that has been deleted is reported as forgotten, not as pending.
    await stage.sql(`DELETE FROM webhook_delivery WHERE id = $1`, [shown[1].reference]);
    expect((await notifications())[1]).toMatchObject({ status: 'FORGOTTEN', recipient: 'forgotten' });
  });
});

describe('each alert condition reaches a webhook', () => {
  it.each(Object.entries(CAUSES))(
    '%s',
    async (condition, { parameters = {}, told: types, alerts: expected, cause }) => {
      const path = `/causes/${condition}`;
      const body = { condition, parameters, severity: 'critical', webhooks: [await endpoint(path)] };
      const rule = (await createRule(body)).body;
      await cause({ stage, service, key, heard: (count) => receiver.calls(path, count) });
      await receiver.calls(path, types.length);
      const first = told(path).slice(0, types.length);
      expect(first.map(({ type }) => type)).toEqual(types);
      expect(first[0]).toMatchObject({ data: { rule: { id: rule.id, condition }, severity: 'critical' } });
      const opened = await alerts(`rule=${rule.id}`);
      expect(opened).toEqual(expect.arrayContaining(expected.map((one) => expect.objectContaining(one))));
    },
  );

  it('hsm-down: when an HSM stops responding, and when it recovers', async () => {
    const rule = '019a0000-0000-7000-8000-000000000001';
    const blind = await stage.start({
      role: 'worker',
      settings: { ...MAY_CALL, SVC_PKCS11_TOKEN_LABEL: 'no-such-token' },
    });
    await until('an alert', 30, async () => (await alerts(`rule=${rule}`))[0]);
    await blind.kill();
    await stage.start({ role: 'worker', settings: MAY_CALL });
    await until('its end', 30, async () => (await alerts(`rule=${rule}`))[0].status === 'RESOLVED');
  });
});

it('certificates of one reporter open 200 alerts and one for the rest, and do not delay the alerts of others', async () => {
  const [flood, other] = [
    (await newApiKey(service, key, ['inventory:report'])).key,
    (await newApiKey(service, key, ['inventory:report'])).key,
  ];
  const many = Array.from({ length: 620 }, (_, index) => certificate(`flood-${index}`, 1));
  const send = (by: string, components: object[], name: string) =>
    service.call('POST', '/api/ingest', { key: by, body: bom(components, about(name)) });
  expect((await send(flood, many, 'flood')).status).toBe(200);
  expect((await send(other, [certificate('payments', 3)], 'payments')).status).toBe(200);
  const { body: rule } = await createRule({ condition: 'certificate-expiring', parameters: { days: 5 } });
  await stage.start({ role: 'worker', settings: MAY_CALL });
  const opened = () => stage.sql<{ title: string }>(`SELECT title FROM alert WHERE rule_id = $1`, [rule.id]);
  const titles = (await until('the alerts', 30, async () => ((await opened()).length > 0 ? opened() : undefined))).map(({ title }) => title); // prettier-ignore
  expect(titles).toContain('A certificate expires soon: payments');
  expect(titles.filter((title) => title.includes('flood-'))).toHaveLength(200);
  expect(titles.filter((title) => title === 'Certificates expire soon')).toHaveLength(1);
});
