import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../audit/entries/audit.service.js';
import { CredentialRights } from '../auth/rights/credential-rights.js';
import type { Scope } from '../access/scopes.js';
import { isDatabaseTrouble } from '../platform/errors/database-error.js';
import { claimDue, whenDue } from '../platform/work/claim.js';
import { Problem } from '../platform/errors/problem.js';
import { ScheduledRuns, ScheduleTargets, type StartingRun } from '../platform/events/schedule-targets.js';

interface DueRun extends StartingRun {
  /** IDs, in addition to `madeBy`, whose rights the run requires. */
  readonly madeBehind: readonly string[] | null;
  readonly target: string;
  readonly byHand: boolean;
}

const DUE = {
  table: 'schedule_run',
  join: 'JOIN schedule s ON s.id = t.schedule_id',
  where: `t.status = 'DUE' AND s.target = ANY($1::text[])`,
  order: 't.id',
};

/** OVERDUE_RUN selects the runs that have exceeded their schedule's time limit. */
export const OVERDUE_RUN = `SELECT r.id FROM schedule_run r JOIN schedule s ON s.id = r.schedule_id
  WHERE r.status IN ('DUE', 'RUNNING') AND r.created_at < now() - make_interval(mins => s.timeout_minutes)`;

/** ScheduleStarter starts due runs, each in one transaction with the rows that its target writes, and ends runs that exceed their time limit. */
@Injectable()
export class ScheduleStarter {
  constructor(
    private readonly db: DataSource,
    private readonly targets: ScheduleTargets,
    private readonly runs: ScheduledRuns,
    private readonly rights: CredentialRights,
    private readonly audit: AuditService,
  ) {}

  /** Starts one run. Returns false if none is due. */
  async startOne(): Promise<boolean> {
    let started: DueRun | undefined;
    try {
      const { kinds } = this.targets;
      const takeAndStart = async (tx: EntityManager) => {
        started = await take(tx, kinds);
        if (started !== undefined) await this.start(tx, started);
      };
      await whenDue(this.db, DUE, takeAndStart, [kinds]);
    } catch (error) {
      const failed = started;
      // It is unknown whether the start was committed. The next check starts the run, or finds it in progress.
      if (failed === undefined || isDatabaseTrouble(error)) throw error;
      const detail =
        error instanceof Problem ? error.message : "The run could not be started. See the worker's log for the cause.";
      await this.db.transaction((tx) => this.runs.end(tx, failed.runId, { ok: false, detail }));
      if (!(error instanceof Problem)) throw error;
    }
    return started !== undefined;
  }

  /**
   * Starts a run. If the users in whose name the schedule runs have lost the required scope, the run fails. Unless the run was started manually, the schedule
   * is then paused until a user who has the scope resumes the schedule.
   */
  private async start(tx: EntityManager, run: DueRun): Promise<void> {
    const target = this.targets.get(run.target);
    if (target === undefined) return;
    const wanted = ['schedules:write', target.scope as Scope] as const;
    const givers = [run.madeBy, ...(run.madeBehind ?? [])];
    if (await this.rights.allHold(givers, wanted, tx)) return target.start?.(tx, run);
    if (!run.byHand) await this.pause(tx, run, target.scope);
    const detail = run.byHand
      ? `The user who requested the run no longer has the ${target.scope} scope.`
      : pausedFor(target.scope);
    await this.runs.end(tx, run.runId, { ok: false, detail });
  }

  private async pause(tx: EntityManager, { scheduleId: id, madeBy, runId }: DueRun, scope: string): Promise<void> {
    await tx.query(`UPDATE schedule SET enabled = false, paused_because = $2, version = version + 1 WHERE id = $1`, [
      id,
      pausedFor(scope),
    ]);
    const actor = { kind: 'system', id: 'schedules', name: 'schedules' } as const;
    const detail = { because: 'rights-lost', madeBy, scope };
    await this.audit.append(tx, [
      { action: 'schedule.paused', actor, target: { kind: 'schedule', id }, correlation: runId, detail },
    ]);
  }

  /** Ends overdue runs. If the worker of a target dies, the end of the run is never reported, and the open run would block the next run. */
  async endOverdue(): Promise<void> {
    const overdue: { id: string }[] = await this.db.query(`${OVERDUE_RUN} LIMIT 100`);
    for (const { id } of overdue) {
      const detail = "The run exceeded the schedule's time limit.";
      await this.db.transaction((tx) => this.runs.end(tx, id, { ok: false, detail }));
    }
  }
}

function pausedFor(scope: string): string {
  return `Paused: the last author of this schedule no longer has the ${scope} scope. A user with this scope can resume the schedule, which then runs in that user's name.`;
}

/** Marks the oldest due run as started; other workers select other runs at the same time. */
async function take(tx: EntityManager, targets: readonly string[]): Promise<DueRun | undefined> {
  const [run] = await claimDue<DueRun>(
    tx,
    {
      ...DUE,
      columns: 't.id, s.name, s.settings, s.made_by, s.made_behind, s.target',
      limit: 1,
      set: `status = 'RUNNING', started_at = now()`,
      returning: `t.id AS "runId", t.schedule_id AS "scheduleId", due.name AS "scheduleName", t.due_at AS "dueAt", due.settings,
        coalesce(t.asked_by, due.made_by) AS "madeBy", CASE WHEN t.asked_by IS NULL THEN due.made_behind END AS "madeBehind", t.asked_by IS NOT NULL AS "byHand", due.target`,
    },
    [targets],
  );
  return run;
}
