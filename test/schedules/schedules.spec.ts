import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { beat, registerSensor, type RegisteredSensor } from '../sensors/sensor-calls.js';

const SKEW = join(import.meta.dirname, '../fakes/skewed-clock.mjs');
/** Clock offsets of the workers, in seconds. */
const SKEWS = [-7, 0, 11];
const workers: Service[] = [];
let stage: Stage;
let api: Service;
let key: string;
let sensor: RegisteredSensor;

const startWorker = async (skewSeconds: number): Promise<Service> => {
  const settings = { NODE_OPTIONS: `--import ${SKEW}`, SKEW_MS: String(skewSeconds * 1000) };
  return stage.start({ role: 'worker', settings });
};

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  api = await stage.start({ role: 'api' });
  sensor = await registerSensor(api, key);
  workers.push(...(await Promise.all(SKEWS.map(startWorker))));
});
afterAll(() => stage.close());

let made = 0;
const create = (body: object, headers = {}) => {
  const settings = { sensor: sensor.id };
  const name = `schedule ${(made += 1)}`;
  return api.call('POST', '/api/schedules', { key, headers, body: { name, target: 'sensor-scan', settings, ...body } });
};
const runs = async (id: string) => (await api.call('GET', `/api/schedules/${id}/runs`, { key })).body.items;
const run = (id: string, status: string) =>
  until(`a run that is ${status}`, 30, async () =>
    (await runs(id)).find((item: { status: string }) => item.status === status),
  );
/** Makes the schedule due `secondsAgo` seconds ago. */
const due = (id: string, secondsAgo = 0) =>
  stage.sql(`UPDATE schedule SET next_due_at = now() - make_interval(secs => $2) WHERE id = $1`, [id, secondsAgo]);

describe.concurrent('a schedule', () => {
  it('shows its next five run times, and is rejected if it has none', async () => {
    const { body } = await create({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' });
    expect(body.next).toHaveLength(5);
    const local = new Intl.DateTimeFormat('de', { timeZone: 'Europe/Berlin', timeStyle: 'short' });
    expect(body.next.every((time: string) => ['02:30', '03:00'].includes(local.format(new Date(time))))).toBe(true);
    for (const [wrong, code, pointer] of [
      [{ cron: '0 0 30 2 *' }, 'schedule.time', '/cron'],
      [{ cron: '* * * * * *' }, 'schedule.time', '/cron'],
      [{ cron: '0 0 * * *', timeZone: 'Mars/Olympus' }, 'schedule.time', '/timeZone'],
      [{}, 'schedule.time', '/cron'],
      [{ intervalSeconds: 60, target: 'coffee' }, 'schedule.target', '/target'],
      [{ intervalSeconds: 60, settings: { sensor: 'x' } }, 'schedule.sensor', '/settings/sensor'],
    ] as const) {
      assertProblem(await create(wrong), { status: 422, code, pointer });
    }
  });

  it('is created once per Idempotency-Key, updated only with its current ETag, and paused', async () => {
    const headers = { 'idempotency-key': 'schedule' };
    const body = { name: 'mine', intervalSeconds: 60 };
    const [one, two] = [await create(body, headers), await create(body, headers)];
    expect(two.body.id).toBe(one.body.id);
    assertProblem(await create(body), { status: 409, code: 'schedule.name' });
    const path = `/api/schedules/${one.body.id}`;
    const paused = await api.call('PATCH', path, { key, headers: { 'if-match': '"1"' }, body: { enabled: false } });
    expect(paused.body).toMatchObject({ enabled: false, next: [], version: 2 });
    const late = await api.call('PATCH', path, { key, headers: { 'if-match': '"1"' }, body: { enabled: true } });
    assertProblem(late, { status: 412, code: 'request.stale' });
    await due(one.body.id);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await runs(one.body.id)).toEqual([]);
  });

  it('can be started manually, one run at a time, and a run due in the meantime is skipped', async () => {
    const { body } = await create({ intervalSeconds: 3600 });
    const start = () => api.call('POST', `/api/schedules/${body.id}/run`, { key });
    const answers = await Promise.all([start(), start(), start()]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([202, 409, 409]);
    await run(body.id, 'RUNNING');
    await due(body.id);
    expect(await run(body.id, 'SKIPPED')).toMatchObject({
      trigger: 'time',
      detail: expect.stringContaining('still in progress'),
    });
  });

  it('passes its scan to the sensor, and records the outcome', async () => {
    const { body } = await create({ intervalSeconds: 3600, settings: { sensor: sensor.id, paths: ['/srv'] } });
    await due(body.id);
    await run(body.id, 'RUNNING');
    const orders = await beat(api, sensor.key);
    const command = orders.body.commands.find(({ settings }: { settings: object }) => 'paths' in settings);
    expect(command.settings).toEqual({ paths: ['/srv'] });
    const scan = { command: command.id, ok: true, assets: 12, detail: '12 assets' };
    const next = await beat(api, sensor.key, { scan });
    expect(next.body.commands.map(({ id }: { id: string }) => id)).not.toContain(command.id);
    expect(await run(body.id, 'SUCCEEDED')).toMatchObject({ detail: '12 assets' });
    await beat(api, sensor.key, { scan: { ...scan, ok: false } });
    expect(await runs(body.id)).toMatchObject([{ status: 'SUCCEEDED' }]);
  });

  it('that does not end in time has failed, and people are alerted', async () => {
    const { body } = await create({ intervalSeconds: 3600, timeoutMinutes: 1 });
    await due(body.id);
    const { id } = await run(body.id, 'RUNNING');
    await stage.sql(`UPDATE schedule_run SET created_at = now() - interval '2 minutes' WHERE id = $1`, [id]);
    await run(body.id, 'FAILED');
    await until('an alert', 30, async () => {
      const { body: alerts } = await api.call('GET', '/api/alerts', { key });
      return alerts.items.some(({ subject }: { subject: { id: string } }) => subject.id === body.id);
    });
  });
});

describe.concurrent('a run due while no worker was running', () => {
  it('is caught up once, or skipped, as configured', async () => {
    const [once, skip] = [await create({ intervalSeconds: 60 }), await create({ intervalSeconds: 60, missed: 'skip' })];
    await Promise.all([due(once.body.id, 630), due(skip.body.id, 615)]);
    expect(await run(once.body.id, 'RUNNING')).toMatchObject({ trigger: 'missed', missed: 10 });
    expect(await runs(once.body.id)).toHaveLength(1);
    // After 615 seconds, the last due time is 15 seconds ago, which is late but not missed.
    expect(await run(skip.body.id, 'RUNNING')).toMatchObject({ missed: 10 });
    const daily = await create({ cron: '0 0 * * *', missed: 'skip' });
    await due(daily.body.id, 30 * 3600);
    const lost = await until('a decision', 30, async () => (await runs(daily.body.id))[0]);
    const sinceMidnight = Date.now() % 86_400_000;
    expect(lost.status).toBe(sinceMidnight > 60_000 ? 'SKIPPED' : 'RUNNING');
  });
});

it('with skewed and killed workers, each due time starts once', async () => {
  const ids = await Promise.all(
    Array.from({ length: 40 }, async () => (await create({ intervalSeconds: 3600 })).body.id),
  );
  const expected = await stage.sql<{ id: string; at: Date }>(
    `UPDATE schedule SET next_due_at = date_trunc('milliseconds', now()) + make_interval(secs => round((random() * 1.5)::numeric, 3)::float)
     WHERE id = ANY($1::uuid[]) RETURNING id, next_due_at AS at`,
    [ids],
  );
  await new Promise((resolve) => setTimeout(resolve, 700));
  // Two of the three workers are killed during the runs. The third worker starts the remaining runs by its own clock. Longer version: npm run proof --
  // schedules
  await Promise.all(workers.slice(0, 2).map((worker) => worker.kill('SIGKILL')));
  await until('all are started', 40, async () => {
    const [row] = await stage.sql<{ started: number }>(
      `SELECT count(*)::int AS started FROM schedule_run WHERE schedule_id = ANY($1::uuid[]) AND started_at IS NOT NULL`,
      [ids],
    );
    return row?.started === expected.length;
  });
  const rows = await stage.sql<{ id: string; at: Date; commands: number }>(
    `SELECT r.schedule_id AS id, r.due_at AS at, (SELECT count(*)::int FROM sensor_command c WHERE c.run_id = r.id) AS commands
     FROM schedule_run r WHERE r.schedule_id = ANY($1::uuid[])`,
    [ids],
  );
  const places = (list: { id: string; at: Date }[]) => list.map(({ id, at }) => `${id} ${at.toISOString()}`).toSorted();
  expect(places(rows)).toEqual(places(expected));
  expect(rows.every(({ commands }) => commands === 1)).toBe(true);
});

it('a start interrupted by the database is retried, and has not failed', async () => {
  const { body } = await create({ intervalSeconds: 3600 });
  const holder = new Client({ connectionString: stage.databaseUrl });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE sensor_command');
  await due(body.id);
  const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO "sensor_command"%'`;
  await until('a start that waits', 15, async () => (await stage.sql(cut)).length > 0);
  await holder.query('ROLLBACK');
  await holder.end();
  await run(body.id, 'RUNNING');
  expect(await runs(body.id)).toHaveLength(1);
});

it('a log check reports its findings', async () => {
  const refused = await create({ intervalSeconds: 3600, target: 'log-check' });
  assertProblem(refused, { status: 422, code: 'schedule.settings', pointer: '/settings/sensor' });
  const { body } = await create({ intervalSeconds: 3600, target: 'log-check', settings: {} });
  const start = () => api.call('POST', `/api/schedules/${body.id}/run`, { key });
  await start();
  expect(await run(body.id, 'SUCCEEDED')).toMatchObject({ detail: expect.stringMatching(/^all \d+ leaves match/) });
  await stage.sql(`ALTER TABLE audit_entry DISABLE TRIGGER ALL`);
  await stage.sql(
    `UPDATE audit_entry SET action = 'nothing.happened' WHERE id = (SELECT min(id::text)::uuid FROM audit_entry)`,
  );
  await start();
  expect(await run(body.id, 'FAILED')).toMatchObject({
    detail: expect.stringContaining('differs from the logged entry'),
  });
});
