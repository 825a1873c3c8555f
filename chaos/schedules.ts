import { Logger } from '@nestjs/common';
import { chmodSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Environment, type Run } from './schedules/environment.js';
import { Random } from './signing/random.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- schedules [--rounds N] [--schedules N] [--seed N]
 * Three workers with different clocks are killed repeatedly while schedules become due. Then the database clock jumps, and passes both daylight saving
 * changes in Berlin. Exits with 0 if exactly one run was started for every due time.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    schedules: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
});
const SKEWS = [-7, 0, 11];
const HOUR_S = 3600;
const { check, conclude } = new Findings();

const placeOf = ({ schedule, dueAt }: Pick<Run, 'schedule' | 'dueAt'>) => `${schedule} ${dueAt.toISOString()}`;
const same = (a: readonly string[], b: readonly string[]) =>
  JSON.stringify(a.toSorted()) === JSON.stringify(b.toSorted());
const utc = (times: readonly Date[]) => times.map((time) => time.toISOString().slice(5, 16));
const started = (runs: readonly Run[]) => runs.filter(({ status }) => status !== 'DUE' && status !== 'SKIPPED');

/** Makes schedules due at random times within a second and a half, while workers are killed and their clocks are moved. */
async function killedWorkers(environment: Environment, random: Random): Promise<void> {
  const ids: string[] = [];
  for (let i = 0; i < Number(values.schedules); i += 1) ids.push(await environment.create({ intervalSeconds: HOUR_S }));
  const expected: string[] = [];
  let kills = 0;
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const moved = await environment.stage.sql<{ schedule: string; dueAt: Date }>(
      `UPDATE schedule SET next_due_at = date_trunc('milliseconds', now()) + make_interval(secs => round((random() * 1.5)::numeric, 3)::float)
       WHERE id = ANY($1::uuid[]) RETURNING id AS schedule, next_due_at AS "dueAt"`,
      [ids],
    );
    expected.push(...moved.map(placeOf));
    for (let victim = 0; victim < 1 + (round % 2); victim += 1) {
      await sleep(200 + random.between(0, 1500));
      const place = Math.floor(random.between(0, SKEWS.length));
      environment.skewWorker((place + 1) % SKEWS.length, random.between(-HOUR_S, HOUR_S));
      await environment.workers[place]?.kill('SIGKILL');
      kills += 1;
      await environment.startWorker(place, SKEWS[place] ?? 0);
    }
    await environment.until('all runs', 60, async () => started(await environment.runs(ids)).length >= expected.length);
    await environment.endRuns();
  }
  await sleep(2000);
  const runs = await environment.runs(ids);
  const twice = runs.filter(({ commands }) => commands !== 1).length;
  check(`${ids.length} schedules, ${expected.length} due times, ${kills} workers killed: each started once`, same(runs.map(placeOf), expected) && twice === 0, `${runs.length} runs, ${twice} not asked for exactly once`); // prettier-ignore
  await environment.removeSchedules();
}

/** Moves the database clock a day forward and two hours back. */
async function clockJumps(environment: Environment): Promise<void> {
  const begin = await environment.databaseNow();
  const once = await environment.create({ intervalSeconds: HOUR_S });
  const skip = await environment.create({ intervalSeconds: HOUR_S, missed: 'skip' });
  const fast = await environment.create({ intervalSeconds: 60 });
  await environment.stage.sql(`UPDATE schedule SET next_due_at = created_at + make_interval(secs => interval_seconds)`);
  const day = 24.5 * HOUR_S;
  environment.moveDatabaseClock(day);
  await environment.until(
    'the runs that were missed',
    20,
    async () => (await environment.runs([once, skip, fast])).length === 3,
  );
  await environment.endRuns();
  const [caught, skipped, minutes] = await Promise.all([once, skip, fast].map((id) => environment.runs([id])));
  check('a day forward: one run for 24 hours that were missed', caught?.[0]?.missed === 23 && caught[0].trigger === 'missed', JSON.stringify(caught?.map(({ missed, status }) => ({ missed, status })))); // prettier-ignore
  check('a day forward: none where missed runs are skipped', skipped?.length === 1 && skipped[0]?.status === 'SKIPPED', JSON.stringify(skipped?.map(({ status, detail }) => ({ status, detail })))); // prettier-ignore
  check('a day forward: one run for a day of minutes', minutes?.length === 1 && minutes[0]?.missed === 100, JSON.stringify(minutes?.map(({ missed }) => missed))); // prettier-ignore
  environment.moveDatabaseClock(day - 2 * HOUR_S);
  await sleep(5000);
  const after = await environment.runs([once, skip, fast]);
  check(
    'two hours back: nothing starts again',
    after.length === 3,
    `${after.length} runs since ${begin.toISOString()}`,
  );
  environment.moveDatabaseClock(day + HOUR_S);
  await environment.until('the next runs', 20, async () => started(await environment.runs([once])).length === 2);
  const next = await environment.runs([once]);
  check('and forward again: the next due time, once', next.length === 2 && new Set(next.map(placeOf)).size === 2);
  await environment.endRuns();
  await environment.removeSchedules();
}

interface ChangeDay {
  readonly name: string;
  /** Times that the database clock passes. The clock is set to two seconds before each time and then runs normally. */
  readonly moments: readonly string[];
  readonly from: string;
  readonly daily: readonly string[];
  readonly halfHourly: readonly string[];
}

/** Expected times, written by hand from the time zone tables: Berlin skips the hour from 02:00 to 03:00 on one day and repeats it on the other day. */
const CHANGE_DAYS: readonly ChangeDay[] = [
  {
    name: '28 March 2027, one hour is missing',
    from: '2027-03-28T00:10:00Z',
    moments: ['00:30', '01:00', '01:30', '02:00'].map((time) => `2027-03-28T${time}:00Z`),
    daily: ['03-28T01:00'],
    halfHourly: ['03-28T00:30', '03-28T01:00', '03-28T01:30', '03-28T02:00'],
  },
  {
    name: '31 October 2027, one hour comes twice',
    from: '2027-10-30T23:40:00Z',
    moments: ['00:00', '00:30', '01:00', '01:30', '02:00'].map((time) => `2027-10-31T${time}:00Z`),
    daily: ['10-31T00:30'],
    halfHourly: ['10-31T00:00', '10-31T00:30', '10-31T01:00', '10-31T01:30', '10-31T02:00'],
  },
];

async function changeDay(
  environment: Environment,
  { name, from, moments, daily, halfHourly }: ChangeDay,
): Promise<void> {
  await environment.setDatabaseClock(new Date(from));
  const ids = await Promise.all(
    ['30 2 * * *', '*/30 * * * *'].map((cron) => environment.create({ cron, timeZone: 'Europe/Berlin' })),
  );
  for (const moment of moments) {
    await environment.setDatabaseClock(new Date(new Date(moment).getTime() - 2000));
    await sleep(6000);
    await environment.endRuns();
  }
  const [once = [], often = []] = await Promise.all(ids.map((id) => environment.runs([id])));
  const times = (runs: readonly Run[]) => utc(runs.map(({ dueAt }) => dueAt));
  const onTime = [...once, ...often].every(({ trigger, commands }) => trigger === 'time' && commands === 1);
  check(`${name}: a fixed time at 02:30`, same(times(once), daily), times(once).join(' '));
  check(`${name}: every half hour`, same(times(often), halfHourly), times(often).join(' '));
  check(`${name}: on time, and asked for once`, onTime);
  await environment.removeSchedules();
}

Logger.overrideLogger(false);
process.umask(0o022);
const environment = await Environment.open();
try {
  chmodSync(environment.directory, 0o755);
  await killedWorkers(environment, new Random(Number(values.seed)));
  await environment.holdDatabaseClock();
  await clockJumps(environment);
  for (const day of CHANGE_DAYS) await changeDay(environment, day);
} finally {
  await environment.close();
}
conclude('every due time started once');
