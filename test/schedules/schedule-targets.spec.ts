import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { about, algorithm, bom } from '../inventory/documents.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { beat, registerSensor } from '../sensors/sensor-calls.js';

let stage: Stage;
let service: Service;
let key: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start();
});
afterAll(() => stage.close());

let made = 0;
const create = (target: string, settings: object = {}, by = key) => {
  const body = { name: `schedule ${(made += 1)}`, intervalSeconds: 3600, target, settings };
  return service.call('POST', '/api/schedules', { key: by, body });
};
const start = (id: string, by = key) => service.call('POST', `/api/schedules/${id}/run`, { key: by });
const runs = async (id: string) => (await service.call('GET', `/api/schedules/${id}/runs`, { key })).body.items;
const ended = async (target: string, settings: object = {}) => {
  const { body } = await create(target, settings);
  expect((await start(body.id)).status).toBe(202);
  return until('the end of a run', 30, async () =>
    (await runs(body.id)).find((run: { endedAt: string }) => run.endedAt),
  );
};

describe('the author of a schedule', () => {
  const SCOPES = [
    ['sensor-scan', 'sensors:write'],
    ['discovery-scan', 'discovery:run'],
    ['log-check', 'audit:read'],
    ['reclassify', 'inventory:write'],
    ['snapshot', 'inventory:write'],
    ['policy-check', 'inventory:read'],
  ] as const;

  it.each(SCOPES)('%s also requires %s, and the error names the scope', async (target, scope) => {
    const { key: limited } = await newApiKey(service, key, ['schedules:read', 'schedules:write']);
    const answer = await create(target, {}, limited);
    assertProblem(answer, { status: 403, code: 'insufficient_scope' });
    expect(answer.body.scope).toBe(scope);
    const { key: allowed } = await newApiKey(service, key, ['schedules:write', scope]);
    // Invalid settings are reported only to callers with permission.
    expect((await create(target, {}, allowed)).status).not.toBe(403);
  });

  it('can choose only these targets', async () => {
    const { body } = await create('coffee');
    expect(body.detail).toBe(
      `/target: must be one of ${SCOPES.map(([target]) => target)
        .toSorted()
        .join(', ')}.`,
    );
  });

  it('cannot change or start the schedule of another author without the scope, but can delete it', async () => {
    const { id: sensor } = await registerSensor(service, key);
    const { body } = await create('sensor-scan', { sensor });
    const { key: limited } = await newApiKey(service, key, ['schedules:read', 'schedules:write']);
    const path = `/api/schedules/${body.id}`;
    const headers = { 'if-match': '"1"' };
    for (const refused of [
      await start(body.id, limited),
      await service.call('PATCH', path, { key: limited, headers, body: { settings: { sensor, paths: ['/'] } } }),
    ]) {
      assertProblem(refused, { status: 403, code: 'insufficient_scope' });
      expect(refused.headers.get('www-authenticate')).toContain('scope="sensors:write"');
    }
    expect(await runs(body.id)).toEqual([]);
    expect((await service.call('GET', path, { key })).body).toMatchObject({ settings: { sensor }, version: 1 });
    expect((await service.call('DELETE', path, { key: limited })).status).toBe(204);
  });
});

describe('a schedule run', () => {
  it('gives a sensor its command until the schedule is removed', async () => {
    const { id: sensor, key: own } = await registerSensor(service, key);
    const { body } = await create('sensor-scan', { sensor, paths: ['/srv'] });
    expect((await start(body.id)).status).toBe(202);
    const commands = async () => (await beat(service, own)).body.commands as { settings: object }[];
    await until('a command', 30, async () => (await commands()).length === 1);
    expect(await commands()).toMatchObject([{ settings: { paths: ['/srv'] } }]);
    expect((await service.call('DELETE', `/api/schedules/${body.id}`, { key })).status).toBe(204);
    expect(await commands()).toEqual([]);
  });

  it('withdraws the command of a sensor when the schedule is paused, or its author may no longer start it', async () => {
    const { id: sensor, key: own } = await registerSensor(service, key);
    const commands = async () => (await beat(service, own)).body.commands as { settings: object }[];
    const author = await newApiKey(service, key, ['schedules:read', 'schedules:write', 'sensors:write']);
    const ends: ((id: string) => Promise<unknown>)[] = [
      async (id) => {
        const change = { key, headers: { 'if-match': '"1"' }, body: { enabled: false } };
        expect((await service.call('PATCH', `/api/schedules/${id}`, change)).status).toBe(200);
      },
      () => service.call('DELETE', `/api/settings/api-keys/${author.id}`, { key }),
    ];
    for (const end of ends) {
      const { body } = await create('sensor-scan', { sensor }, author.key);
      await stage.sql(`UPDATE schedule SET next_due_at = now() WHERE id = $1`, [body.id]);
      await until('a command', 30, async () => (await commands()).length === 1);
      await end(body.id);
      expect(await commands()).toEqual([]);
      expect(await runs(body.id)).toMatchObject([{ status: 'FAILED' }]);
    }
  });

  it('reclassifies everything', async () => {
    const weak = algorithm({ name: 'RSA-1024', properties: { primitive: 'signature' }, at: 'a.c' });
    await service.call('POST', '/api/ingest', { key, body: bom([weak], about('old')) });
    const level = async () => (await service.call('GET', '/api/assets?q=source=old', { key })).body.items[0].level;
    const judged = await level();
    // Simulates a verdict from an earlier release.
    await stage.sql(
      `UPDATE risk_verdict SET rules = 'older', level = 0, verdict = jsonb_set(verdict, '{level}', '"NONE"')
       WHERE id IN (SELECT verdict_id FROM asset WHERE name = 'RSA-1024')`,
    );
    expect(await level()).toBe('NONE');
    expect(await ended('reclassify')).toMatchObject({
      status: 'SUCCEEDED',
      detail: expect.stringMatching(/^\d+ sets of facts were assessed; 1 assets changed$/),
    });
    expect(await level()).toBe(judged);
    expect(await ended('reclassify')).toMatchObject({ detail: expect.stringMatching(/; 0 assets changed$/) });
  });

  it('ensures that a snapshot of the last day is stored', async () => {
    const { status, detail } = await ended('snapshot');
    const [, day] = /^(\d{4}-\d\d-\d\d) (?:is kept|was already stored)$/.exec(detail) ?? [];
    expect([status, day]).toEqual(['SUCCEEDED', expect.any(String)]);
    expect((await service.call('GET', `/api/analytics/snapshots/${day}`, { key })).status).toBe(200);
  });

  it('evaluates the inventory against a policy, and is rejected if it cannot be evaluated', async () => {
    assertProblem(await create('policy-check', { pack: 'none' }), { status: 404, code: 'policy-pack.missing' });
    const unread = await create('policy-check', { pack: 'cnsa-2.0', scope: 'family=' });
    assertProblem(unread, { status: 400, code: 'query.invalid' });
    assertProblem(await create('policy-check'), { status: 400, code: 'request.invalid', pointer: '/settings/pack' });
    assertProblem(await create('snapshot', { day: 1 }), {
      status: 422,
      code: 'schedule.settings',
      pointer: '/settings/day',
    });
    const { status, detail } = await ended('policy-check', { pack: 'cnsa-2.0' });
    expect([status, detail]).toEqual(['SUCCEEDED', expect.stringMatching(/^\d of 5 requirements of CNSA 2.0 are/)]);
  });

  it('evaluates a part of the inventory against a policy and alerts until the violation is removed', async () => {
    const weak = algorithm({ name: 'RSA-1024', properties: { primitive: 'signature' }, at: 'a.c' });
    await service.call('POST', '/api/ingest', { key, body: bom([weak], about('shop')) });
    const requirements = [{ identifier: 'H-1', text: 'No RSA', q: 'family=RSA' }];
    const policy = { name: 'House', version: '1', owner: 'We', description: 'Ours', reviewEveryDays: 90, requirements };
    const { body: pack } = await service.call('POST', '/api/policy-packs', { key, body: policy });
    const rule = { name: 'policies', condition: 'policy-violation' };
    expect((await service.call('POST', '/api/alert-rules', { key, body: rule })).status).toBe(201);
    const alerted = (status: string) =>
      until(`an alert that is ${status}`, 30, async () => {
        const { body } = await service.call('GET', `/api/alerts?status=${status}`, { key });
        return body.items.find(({ subject }: { subject: { name: string } }) => subject.name === 'House, H-1');
      });
    expect(await ended('policy-check', { pack: pack.id, scope: 'source=shop' })).toMatchObject({
      status: 'SUCCEEDED',
      detail: '1 of 1 requirements of House are violated',
    });
    expect(await alerted('OPEN')).toMatchObject({ facts: { where: 'source=shop' } });
    expect((await service.call('DELETE', `/api/policy-packs/${pack.id}`, { key })).status).toBe(204);
    expect(await alerted('RESOLVED')).toMatchObject({ facts: { where: 'source=shop' }, resolvedBy: null });
  });
});
