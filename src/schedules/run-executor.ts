import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { JobLeases } from '../platform/jobs/job-lease.repository.js';
import { Problem } from '../platform/errors/problem.js';
import {
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
  ScheduledRuns,
} from '../platform/schedules/schedule-targets.js';

interface OpenRun {
  readonly id: string;
  readonly settings: Record<string, unknown>;
}

type ExecutableTarget = ScheduleTarget & Required<Pick<ScheduleTarget, 'carryOut'>>;

/** Executes the runs of targets that do their work within the run, and finishes them before a shutdown. */
@Injectable()
export class RunExecutor implements BeforeApplicationShutdown {
  private readonly logger = new Logger(RunExecutor.name);
  private readonly busy = new Map<string, Promise<void>>();
  private stopping = false;

  constructor(
    private readonly db: DataSource,
    private readonly targets: ScheduleTargets,
    private readonly runs: ScheduledRuns,
    private readonly jobs: JobLeases,
  ) {}

  /** Begins open runs, one of each kind at a time: kinds do not wait for each other. */
  @Interval(2000)
  look(): void {
    if (this.stopping) return;
    for (const kind of this.targets.kinds) {
      const target = this.targets.get(kind);
      if (target === undefined || !isExecutable(target) || this.busy.has(kind)) continue;
      const work = this.carryOut(kind, target)
        .catch((error: unknown) => this.logger.warn(`a run of ${kind} was not executed: ${String(error)}`))
        .finally(() => this.busy.delete(kind));
      this.busy.set(kind, work);
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.busy.values());
  }

  /** One process at a time has the lease. When it dies, the lease runs out while the run is still open, so another process begins it anew. */
  private async carryOut(kind: string, target: ExecutableTarget): Promise<void> {
    if ((await this.open(kind)) === undefined) return;
    await this.jobs.alone(`schedule-run ${kind}`, async () => {
      // Read again: the process that had the lease before may have ended it.
      const run = await this.open(kind);
      if (run !== undefined) await this.end(run.id, await endOf(target.carryOut(run.settings)));
    });
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

function isExecutable(target: ScheduleTarget): target is ExecutableTarget {
  return target.carryOut !== undefined;
}

/** A Problem of the work is the reason why the run failed. */
async function endOf(work: Promise<RunEnd>): Promise<RunEnd> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { ok: false, detail: error.message };
  }
}
