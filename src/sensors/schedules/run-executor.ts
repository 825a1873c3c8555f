import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import { type RunEnd, type ScheduleTarget, ScheduleTargets } from '../../platform/schedules/schedule-targets.js';
import { ScheduledRuns } from '../../platform/schedules/scheduled-runs.js';

interface OpenRun {
  readonly id: string;
  readonly settings: Record<string, unknown>;
}

type Doing = ScheduleTarget & Required<Pick<ScheduleTarget, 'carryOut'>>;

/** Carries out the runs of targets that do their work at once. */
@Injectable()
export class RunExecutor {
  private readonly logger = new Logger(RunExecutor.name);
  private readonly busy = new Map<string, Promise<void>>();

  constructor(
    private readonly db: DataSource,
    private readonly targets: ScheduleTargets,
    private readonly runs: ScheduledRuns,
  ) {}

  /** Begins what is under way and not being done here, one run of each kind at a time: kinds do not wait for each other. */
  look(): void {
    for (const kind of this.targets.kinds) {
      const target = this.targets.get(kind);
      if (target === undefined || !does(target) || this.busy.has(kind)) continue;
      const work = this.carryOut(kind, target)
        .catch((error: unknown) => this.logger.warn(`a run of ${kind} waits: ${String(error)}`))
        .finally(() => this.busy.delete(kind));
      this.busy.set(kind, work);
    }
  }

  /** Settles when nothing is being done. */
  async idle(): Promise<void> {
    await Promise.all(this.busy.values());
  }

  /**
   * One process at a time holds the lock of its session; when it dies, the run is still under way and the lock is free, so another
   * process begins it anew.
   */
  private async carryOut(kind: string, target: Doing): Promise<void> {
    if ((await this.open(kind)) === undefined) return;
    const session = this.db.createQueryRunner();
    const lock = [`schedule run ${kind}`];
    try {
      const [taken]: { mine: boolean }[] = await session.query(
        `SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine`,
        lock,
      );
      if (taken?.mine !== true) return;
      try {
        // Looked for again: whoever held the lock before may have ended it.
        const run = await this.open(kind);
        if (run !== undefined) await this.end(run.id, await endOf(target.carryOut(run.settings)));
      } finally {
        await session.query(`SELECT pg_advisory_unlock(hashtextextended($1, 0))`, lock);
      }
    } finally {
      await session.release();
    }
  }

  private async open(kind: string): Promise<OpenRun | undefined> {
    const rows: OpenRun[] = await this.db.query(
      `SELECT r.id, s.settings FROM schedule_run r JOIN schedule s ON s.id = r.schedule_id
       WHERE r.status = 'RUNNING' AND s.target = $1 ORDER BY r.id LIMIT 1`,
      [kind],
    );
    return rows[0];
  }

  private async end(id: string, { commit, ...outcome }: RunEnd): Promise<void> {
    await this.db.transaction(async (tx) => {
      await commit?.(tx);
      await this.runs.end(tx, id, outcome);
    });
  }
}

function does(target: ScheduleTarget): target is Doing {
  return target.carryOut !== undefined;
}

/** What the work was refused for is why the run failed. */
async function endOf(work: Promise<RunEnd>): Promise<RunEnd> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { ok: false, detail: error.message };
  }
}
