import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inDays, newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { beat, registerSensor, type RegisteredSensor } from './sensor-calls.js';

let stage: Stage;
let service: Service;
let key: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start();
});
afterAll(() => stage.close());

const get = async (id: string) => (await service.call('GET', `/api/sensors/${id}`, { key })).body;
const alertOf = async (id: string) =>
  (await service.call('GET', '/api/alerts?limit=200', { key })).body.items.find(
    ({ subject }: { subject: { id: string } }) => subject.id === id,
  );

describe.concurrent('a sensor', () => {
  it('is registered with a key that is returned once and can do nothing else', async () => {
    const headers = { 'idempotency-key': 'sensor' };
    const body = { name: 'east', kind: 'network', expiry: inDays(30), configuration: { endpoints: ['db1:5432'] } };
    const first = await service.call('POST', '/api/sensors', { key, headers, body });
    expect(first.body).toMatchObject({ name: 'east', enabled: true, key: expect.stringMatching(/^sw_/) });
    const again = await service.call('POST', '/api/sensors', { key, headers, body });
    assertProblem(again, { status: 409, code: 'idempotency.secret-shown' });
    assertProblem(await service.call('POST', '/api/sensors', { key, body }), { status: 409, code: 'sensor.name' });
    expect(JSON.stringify(await get(first.body.id))).not.toContain(first.body.key);
    for (const path of ['/api/sensors', '/api/assets', '/api/settings/api-keys']) {
      expect((await service.call('GET', path, { key: first.body.key })).status).toBe(403);
    }
    const live = await stage.sql(`SELECT 1 FROM api_key WHERE name = 'sensor east' AND revoked_at IS NULL`);
    expect(live).toHaveLength(1);
  });

  it('sends a heartbeat, and receives its configuration', async () => {
    const { id, key: own } = await registerSensor(service, key, { configuration: { paths: ['/etc'] } });
    const orders = await beat(service, own, { version: '1.2.3', scan: { ok: true, assets: 7 } });
    expect(orders.body).toEqual({
      sensor: id,
      heartbeatSeconds: 10,
      version: 1,
      configuration: { paths: ['/etc'] },
      commands: [],
    });
    expect(await get(id)).toMatchObject({ softwareVersion: '1.2.3', lastScanAssets: 7, lastError: null });
    const change = { key, headers: { 'if-match': '"1"' }, body: { configuration: { paths: ['/srv'] } } };
    expect((await service.call('PATCH', `/api/sensors/${id}`, change)).status).toBe(200);
    assertProblem(await service.call('PATCH', `/api/sensors/${id}`, change), { status: 412, code: 'request.stale' });
    expect((await beat(service, own)).body).toMatchObject({ version: 2, configuration: { paths: ['/srv'] } });
    await beat(service, own, { scan: { ok: false, detail: 'no permission' } });
    expect(await get(id)).toMatchObject({ lastError: 'no permission', lastScanAssets: 7 });
    assertProblem(await beat(service, key), { status: 404, code: 'sensor.unknown-key' });
  });

  it('receives another key while the old one remains valid, and none when disabled', async () => {
    const { id, key: old } = await registerSensor(service, key);
    const renew = () =>
      service.call('POST', `/api/sensors/${id}/key`, { key, body: { expiry: inDays(60), overlapHours: 1 } });
    const next = (await renew()).body.key as string;
    expect([(await beat(service, old)).status, (await beat(service, next)).status]).toEqual([200, 200]);
    expect((await service.call('POST', `/api/sensors/${id}/disable`, { key, body: {} })).body.enabled).toBe(false);
    for (const revoked of [old, next]) {
      await until('a refusal', 6, async () => (await beat(service, revoked)).status === 401);
    }
    const back = (await renew()).body;
    expect(back.enabled).toBe(true);
    expect((await beat(service, back.key)).status).toBe(200);
    expect((await service.call('DELETE', `/api/sensors/${id}`, { key })).status).toBe(204);
    await until('a refusal', 6, async () => (await beat(service, back.key)).status === 401);
  });

  it('may use any of its unexpired keys, however often it received another, and none when disabled', async () => {
    const { id, key: first } = await registerSensor(service, key);
    const renew = async (overlapHours: number): Promise<string> =>
      (await service.call('POST', `/api/sensors/${id}/key`, { key, body: { expiry: inDays(60), overlapHours } })).body
        .key;
    const lost = await renew(1);
    const next = await renew(1);
    for (const one of [first, lost, next]) expect((await beat(service, one)).status).toBe(200);
    const last = await renew(0);
    for (const ended of [first, lost, next])
      await until('a refusal', 6, async () => (await beat(service, ended)).status === 401);
    expect((await beat(service, last)).status).toBe(200);
    const newest = await renew(24);
    expect((await service.call('POST', `/api/sensors/${id}/disable`, { key, body: {} })).status).toBe(200);
    for (const ended of [last, newest]) {
      await until('a refusal', 6, async () => {
        const found = await service.call('POST', '/api/ingest', { key: ended, body: { assets: [] } });
        return found.status === 401;
      });
    }
  });

  it('records the last use of its key once an hour, and immediately from another address', async () => {
    const [current, due, moved] = [
      await registerSensor(service, key),
      await registerSensor(service, key),
      await registerSensor(service, key),
    ];
    const used = ({ id }: RegisteredSensor, at: string, from = '127.0.0.1') =>
      stage.change(
        `UPDATE api_key SET last_used_at = ${at}, last_used_from = $2 WHERE id = (SELECT api_key_id FROM sensor WHERE id = $1)`,
        [id, from],
      );
    const lastUse = async ({ id }: RegisteredSensor) => {
      const [row] = await stage.sql<{ at: string; from: string }>(
        `SELECT last_used_at::text AS at, last_used_from AS "from" FROM api_key WHERE id = (SELECT api_key_id FROM sensor WHERE id = $1)`,
        [id],
      );
      return row;
    };
    const thisHour = `date_trunc('hour', now() + interval '2 minutes')`;
    await used(current, thisHour);
    await used(due, `date_trunc('hour', now()) - interval '1 second'`);
    await used(moved, thisHour, '192.0.2.7');
    const [before, dueBefore] = [await lastUse(current), await lastUse(due)];
    for (const sensor of [current, due, moved]) expect((await beat(service, sensor.key)).status).toBe(200);
    await until('the first use in this hour is stored', 30, async () => (await lastUse(due))?.at !== dueBefore?.at);
    expect(await lastUse(moved)).toMatchObject({ from: '127.0.0.1' });
    expect(await lastUse(current)).toEqual(before);
  });

  it('receives another key after its key has expired', async () => {
    const { id, key: old } = await registerSensor(service, key);
    await stage.change(`UPDATE api_key SET expiry = now() WHERE id = (SELECT api_key_id FROM sensor WHERE id = $1)`, [
      id,
    ]);
    await until('a refusal', 6, async () => (await beat(service, old)).status === 401);
    const renewed = await service.call('POST', `/api/sensors/${id}/key`, { key, body: { expiry: inDays(60) } });
    expect(renewed.status).toBe(201);
    expect((await beat(service, renewed.body.key)).status).toBe(200);
  });

  it('receives no key of another owner if SQL assigned that key to the sensor', async () => {
    const { id } = await registerSensor(service, key);
    const other = await newApiKey(service, key, ['sensors:report', 'inventory:report']);
    await stage.sql(`UPDATE sensor SET api_key_id = $1 WHERE id = $2`, [other.id, id]);
    const renewed = await service.call('POST', `/api/sensors/${id}/key`, {
      key,
      body: { expiry: inDays(20), overlapHours: 0 },
    });
    expect(renewed.status).toBe(201);
    const rows = await stage.sql(
      `SELECT n.name LIKE 'sensor %' AS own, o.replaced_by AS replaced FROM api_key o, sensor s JOIN api_key n ON n.id = s.api_key_id
       WHERE o.id = $1 AND s.id = $2`,
      [other.id, id],
    );
    expect(rows).toEqual([{ own: true, replaced: null }]);
    expect((await beat(service, renewed.body.key)).status).toBe(200);
  });

  it('that goes silent is reported within two intervals, and the alert ends when it is back', async () => {
    const { id, key: own } = await registerSensor(service, key);
    await beat(service, own);
    // Moves the last heartbeat ten seconds back to shorten the wait.
    await stage.sql(`UPDATE sensor SET last_heartbeat_at = now() - interval '10 seconds' WHERE id = $1`, [id]);
    const began = Date.now() - 10_000;
    await until('silence', 11, async () => (await get(id)).silentSince !== null);
    expect(Date.now() - began).toBeGreaterThan(14_000);
    expect(Date.now() - began).toBeLessThan(20_500);
    const alert = await until('an alert', 30, () => alertOf(id));
    expect(alert).toMatchObject({ status: 'OPEN', facts: { why: expect.stringContaining('every 10 seconds') } });
    await beat(service, own);
    await until('its end', 30, async () => (await alertOf(id)).status === 'RESOLVED');
    expect((await get(id)).silentSince).toBeNull();
  });
});
