import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { preparedRead } from '../database/statements.js';
import { fromOf } from './claim.js';
import type { BackgroundJob } from './background-job.js';
import type { DueLook } from './background.js';

/** DueJobs selects the jobs that are due, with one statement for all jobs. */
@Injectable()
export class DueJobs {
  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
  ) {}

  /** Reports whether rows determine when the job is due: the rows of its `due` option, or the lease of a cluster job. */
  canSelect({ options }: BackgroundJob): boolean {
    return options.scope === 'cluster' || options.due !== undefined;
  }

  /**
   * Returns the names of the given jobs that are due. Each check reads one row of an index. Planning the statement takes much longer than running the
   * statement. The statement is therefore prepared, and the jobs must be the same in every call.
   */
  async among(jobs: readonly BackgroundJob[]): Promise<ReadonlySet<string>> {
    const looks = jobs.flatMap((job) => this.looksOf(job));
    if (looks.length === 0) return new Set();
    const rows = await preparedRead<{ job: string }>(this.db, 'due-jobs', looks.join(' UNION ALL '));
    return new Set(rows.map(({ job }) => job));
  }

  private looksOf(job: BackgroundJob): string[] {
    const { name, due = [], scope } = job.options;
    if (scope === 'cluster')
      return [`SELECT '${name}' AS job WHERE NOT EXISTS (${leaseThatHolds(name, this.period(job))})`];
    const looks = Array.isArray(due) ? (due as readonly DueLook[]) : [due as DueLook];
    return looks.map((look) => `SELECT '${name}' AS job FROM (${selectOf(look)} LIMIT 1) due`);
  }

  private period({ every }: BackgroundJob): number {
    return every / 1000 / this.config.clockSpeed;
  }
}

function selectOf(look: DueLook): string {
  if (typeof look === 'string') return look;
  const { where, order, ...from } = look;
  return `SELECT 1 FROM ${fromOf(from)} WHERE ${where} ORDER BY ${order}`;
}

/**
 * Returns SQL that selects the lease if the lease prevents a run, as in JobLeases: another process runs the job, or the job succeeded less than `seconds`
 * ago.
 */
function leaseThatHolds(name: string, seconds: number): string {
  return `SELECT FROM job_lease j WHERE j.name = '${name}' AND (j.owner IS NOT NULL AND j.lease_until >= clock_timestamp()
    OR j.last_success_at > clock_timestamp() - make_interval(secs => ${seconds}))`;
}
