import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { lockDue, whenDue } from '../platform/work/claim.js';
import { newId } from '../platform/database/new-id.js';
import type { RunTrigger } from '../platform/events/schedule-run.entity.js';
import { dueSpan, nextDue } from './due-times.js';
import { Schedule } from './schedule.entity.js';

const BATCH_SIZE = 50;
export const DUE_SCHEDULE = { table: 'schedule', where: 'enabled AND next_due_at <= now()', order: 'next_due_at' };
/** Delay after which a run counts as missed. Busy workers cause shorter delays; a longer delay means that no worker was running. */
const ON_TIME_MS = 60_000;

/**
 * ScheduleTicker creates a run for each due time. The database clock determines what is due, so clock differences between workers do not matter. A unique
 * constraint on schedule and due time ensures that only one worker creates each run.
 */
@Injectable()
export class ScheduleTicker {
  constructor(private readonly db: DataSource) {}

  /** Creates the runs of due schedules. Returns the number of schedules that were due. */
  async tick(): Promise<number> {
    const ticked = await whenDue(this.db, DUE_SCHEDULE, async (tx) => {
      const due = await lockDue<{ id: string; now: Date }>(tx, {
        ...DUE_SCHEDULE,
        columns: 't.id, now() AS now',
        limit: BATCH_SIZE,
      });
      const [first] = due;
      if (first === undefined) return 0;
      const schedules = await tx.findBy(Schedule, { id: In(due.map(({ id }) => id)) });
      for (const schedule of schedules) await advance(tx, schedule, first.now);
      return due.length;
    });
    return ticked ?? 0;
  }
}

async function advance(tx: EntityManager, schedule: Schedule, now: Date): Promise<void> {
  const { id, nextDueAt } = schedule;
  if (nextDueAt === null) return;
  const { last, earlier } = dueSpan(schedule, nextDueAt, now);
  const wasMissed = now.getTime() - last.getTime() > ON_TIME_MS;
  const trigger = wasMissed || earlier > 0 ? 'missed' : 'time';
  const skipped = wasMissed && schedule.missed === 'skip' ? 'No worker was running when the run was due.' : undefined;
  await insertRun(tx, { schedule: id, dueAt: last, trigger, missed: earlier, skipped });
  await tx.query(`UPDATE schedule SET next_due_at = $2 WHERE id = $1`, [id, nextDue(schedule, now)]);
}

export interface NewRun {
  readonly schedule: string;
  readonly dueAt: Date;
  readonly trigger: RunTrigger;
  readonly missed: number;
  /** Reason why the run is skipped. */
  readonly skipped: string | undefined;
  /** ID of the caller who starts the run manually. */
  readonly askedBy?: string;
}

/**
 * Creates a run for a due time, at most once across all workers. The run is skipped if another run of the schedule is in progress. Returns the run's ID if a
 * run was created.
 */
export async function insertRun(tx: EntityManager, run: NewRun): Promise<string | undefined> {
  const rows: { id: string }[] = await tx.query(
    `INSERT INTO schedule_run (id, schedule_id, due_at, trigger, missed, asked_by, status, detail, ended_at)
     SELECT $1, $2, $3, $4, $5, $7, CASE WHEN reason IS NULL THEN 'DUE' ELSE 'SKIPPED' END, reason, CASE WHEN reason IS NULL THEN NULL ELSE now() END
     FROM (SELECT coalesce($6, (SELECT 'The previous run was still in progress.' FROM schedule_run
       WHERE schedule_id = $2 AND status IN ('DUE', 'RUNNING') LIMIT 1)) AS reason) why
     ON CONFLICT (schedule_id, due_at) DO NOTHING RETURNING id`,
    [newId(), run.schedule, run.dueAt, run.trigger, run.missed, run.skipped ?? null, run.askedBy ?? null],
  );
  return rows[0]?.id;
}
