import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { JobLeases } from '../platform/work/job-lease.repository.js';
import { Problem } from '../platform/errors/problem.js';
import { BackgroundJobs } from '../platform/work/background-jobs.js';
import {
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
  ScheduledRuns,
} from '../platform/events/schedule-targets.js';

interface OpenRun {
  readonly id: string;
  readonly settings: Record<string, unknown>;
}

type ExecutableTarget = ScheduleTarget & Required<Pick<ScheduleTarget, 'carryOut'>>;

/** RunExecutor executes the runs of targets that implement `carryOut`. Runs of different target kinds do not block each other. */
@Injectable()
export class RunExecutor implements OnApplicationBootstrap {
  constructor(
    private readonly db: DataSource,
    private readonly targets: ScheduleTargets,
    private readonly runs: ScheduledRuns,
    private readonly leases: JobLeases,
    private readonly jobs: BackgroundJobs,
  ) {}

  onApplicationBootstrap(): void {
    for (const kind of this.targets.kinds) {
      const target = this.targets.get(kind);
      if (target === undefined || !isExecutable(target)) continue;
      const job = { name: `schedule-runs-${kind}`, scope: 'process', due: openRun(`'${kind}'`) } as const;
      this.jobs.add(job, () => this.carryOut(kind, target));
    }
  }

  /**
   * One process at a time holds the lease. If the process dies, the lease expires while the run is still open, so another process starts the run
   * again.
   */
  private async carryOut(kind: string, target: ExecutableTarget): Promise<void> {
    if ((await this.open(kind)) === undefined) return;
    await this.leases.alone(`schedule-run ${kind}`, async () => {
      // Reload the run: the previous holder of the lease may have ended the run.
      const run = await this.open(kind);
      if (run !== undefined) await this.end(run.id, await endOf(target.carryOut(run.settings)));
    });
  }

  private async open(kind: string): Promise<OpenRun | undefined> {
    const rows: OpenRun[] = await this.db.query(`${openRun('$1')} LIMIT 1`, [kind]);
    return rows[0];
  }

  private async end(id: string, { commit, ...outcome }: RunEnd): Promise<void> {
    await this.db.transaction(async (tx) => {
      await commit?.(tx);
      await this.runs.end(tx, id, outcome);
    });
  }
}

/** Returns SQL that selects the open runs of a kind, oldest first. */
function openRun(kind: string): string {
  return `SELECT r.id, s.settings FROM schedule_run r JOIN schedule s ON s.id = r.schedule_id
    WHERE r.status = 'RUNNING' AND s.target = ${kind} ORDER BY r.id`;
}

function isExecutable(target: ScheduleTarget): target is ExecutableTarget {
  return target.carryOut !== undefined;
}

/** Returns the outcome of the work. A Problem becomes the run's failure reason. */
async function endOf(work: Promise<RunEnd>): Promise<RunEnd> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { ok: false, detail: error.message };
  }
}
