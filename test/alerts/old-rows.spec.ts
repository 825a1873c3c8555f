import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { firstIdAt } from '../../src/platform/database/new-id.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const SCHEDULE = randomUUID();
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
  await stage.seed();
});
afterAll(() => stage.close());

/** Returns an ID whose timestamp is `days` days in the past. */
const idOf = (days: number) => `${firstIdAt(Date.now() - days * 86_400_000).slice(0, 14)}${randomUUID().slice(14)}`;
const daysAgo = (days: number) => `now() - interval '${days} days'`;

/** Inserts a row that was created `days` days ago and, if `over` is true, also ended at that time. */
async function row(table: string, days: number, over: boolean): Promise<void> {
  const at = daysAgo(days);
  const end = over ? at : 'NULL';
  await stage.sql(
    {
      mail_message: `INSERT INTO mail_message (id, recipient, subject, created_at, expires_at, sent_at)
        VALUES ($1, 'a@b.example', 'x', ${at}, now() + interval '1 day', ${end})`,
      sensor_command: `INSERT INTO sensor_command (id, sensor_id, created_at, ended_at) VALUES ($1, gen_random_uuid(), ${at}, ${end})`,
      webhook_delivery: `INSERT INTO webhook_delivery (id, endpoint_id, type, body, status, ended_at)
        VALUES ($1, gen_random_uuid(), 'x', '', '${over ? 'DELIVERED' : 'PENDING'}', ${end})`,
    }[table] ?? '',
    [randomUUID()],
  );
}

const count = async (table: string): Promise<number> => {
  const [counted] = await stage.sql<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return counted?.count ?? 0;
};

it('rows that ended long ago are deleted, open rows are kept, and so are the latest runs of each schedule', async () => {
  for (const [table, kept] of [
    ['mail_message', 90],
    ['sensor_command', 90],
    ['webhook_delivery', 30],
  ] as const)
    for (const [days, over] of [
      [kept + 1, true],
      [kept - 1, true],
      [kept + 1, false],
    ] as const)
      await row(table, days, over);
  // Weekly runs over three years: 150 runs, of which the latest 100 are kept regardless of age.
  await stage.sql(`INSERT INTO schedule (id, name, target, made_by) VALUES ($1, 'weekly', 'log-check', 'nobody')`, [
    SCHEDULE,
  ]);
  await stage.sql(
    `INSERT INTO schedule_run (id, schedule_id, due_at, trigger, status, ended_at)
     SELECT gen_random_uuid(), $1, now() - n * interval '7 days', 'time', 'SUCCEEDED', now() - n * interval '7 days' FROM generate_series(1, 150) n`,
    [SCHEDULE],
  );
  // The process that created the database may already have run the job within the last hour.
  await stage.sql('DELETE FROM job_lease');
  const worker = await stage.start({ role: 'worker' });
  const counts = () => Promise.all(['mail_message', 'sensor_command', 'webhook_delivery', 'schedule_run'].map(count));
  await until('something old is forgotten in each table', 30, async () => {
    const [mails = 0, commands = 0, deliveries = 0, runs = 0] = await counts();
    return mails < 3 && commands < 3 && deliveries < 3 && runs < 150;
  });
  expect(await counts()).toEqual([2, 2, 2, 100]);
  await worker.kill();
});

it('rows are deleted after the configured retention, except those in use', async () => {
  const [source, newest, alert] = [randomUUID(), idOf(400), idOf(400)];
  const document = (id: string, serial: string | null) =>
    stage.sql(
      `INSERT INTO inventory_document (id, source_id, digest, format, serial_number, received_from, received_at, outcome)
       VALUES ($1, $2, decode(md5(random()::text), 'hex'), 'sensor scan', $3, 'nobody', now() - interval '400 days', '{}')`,
      [id, source, serial],
    );
  await stage.sql(`INSERT INTO inventory_source (id, name, document_id) VALUES ($1, 'a source', $2)`, [source, newest]);
  await document(newest, null);
  await document(idOf(400), null);
  await document(idOf(400), 'urn:uuid:1');
  await document(idOf(1), null);
  for (const [id, status] of [
    [alert, 'RESOLVED'],
    [idOf(400), 'OPEN'],
  ])
    await stage.sql(
      `INSERT INTO alert (id, rule_id, key, severity, title, subject_kind, subject_id, subject_name, status, first_at, last_at, resolved_at)
       VALUES ($1, gen_random_uuid(), gen_random_uuid()::text, 'warning', 'x', 'host', 'x', 'x', $2, now() - interval '400 days', now(),
         CASE WHEN $2 = 'RESOLVED' THEN now() - interval '400 days' END)`,
      [id, status],
    );
  await stage.sql('DELETE FROM job_lease');
  const settings = { SVC_KEEP_DOCUMENTS_DAYS: '365', SVC_KEEP_ALERTS_DAYS: '365', SVC_KEEP_SCAN_RESULTS_DAYS: '365' };
  await stage.start({ role: 'worker', settings });
  await until(
    'something old is forgotten',
    30,
    async () => (await count('inventory_document')) < 4 && (await count('alert')) < 2,
  );
  expect(await count('inventory_document')).toBe(3);
  expect(await stage.sql('SELECT status FROM alert')).toEqual([{ status: 'OPEN' }]);
});
