import { Injectable } from '@nestjs/common';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import { truncate } from '../text/truncate.js';
import { underLease, WORKER_ID } from './claim.js';

/** JobLease is a job that runs in one process at a time, with its last success. */
@Entity('job_lease')
export class JobLease {
  @PrimaryColumn('text')
  name: string;

  /** Process that runs the job; null between runs. */
  @Column('uuid', { nullable: true })
  owner: string | null;

  /** End of the lease. A process that died no longer renews the lease, so another process claims the job. */
  @Column('timestamptz')
  leaseUntil: Date;

  @Column('timestamptz', { nullable: true })
  lastSuccessAt: Date | null;

  /** Error of the last run if it failed; null after a success. */
  @Column('text', { nullable: true })
  lastError: string | null;
}

/** BACKUP_JOB is the name of the row in which `sealwright-admin backup` records its outcome. No process claims this row. */
export const BACKUP_JOB = 'backup';

const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5000;
const MAX_ERROR_CHARACTERS = 500;

/** JobState is the state of a job as last recorded. */
export interface JobState {
  readonly name: string;
  readonly lastSuccessAt: Date | null;
  /** Seconds since the last success, by the database clock. */
  readonly ageSeconds: number | null;
  readonly lastError: string | null;
}

/**
 * JobLeases runs jobs in one process at a time. The lease is a row rather than a session lock: the lease works through a connection pooler, needs no
 * connection while the job runs, and records the last success. Jobs must tolerate concurrent runs, because a process whose renewals failed may still be
 * running the job.
 */
@Injectable()
export class JobLeases {
  constructor(private readonly db: DataSource) {}

  /** Runs `work`, or returns undefined if another process is running the job. */
  async alone<Result>(name: string, work: () => Promise<Result>): Promise<{ readonly result: Result } | undefined> {
    return (await this.claim(name, 0)) ? { result: await this.run(name, work) } : undefined;
  }

  /** Runs `work` unless another process is running the job or the job succeeded within the last `seconds`. Returns whether `work` ran. */
  async onceEvery(seconds: number, name: string, work: () => Promise<unknown>): Promise<boolean> {
    if (!(await this.claim(name, seconds))) return false;
    await this.run(name, work);
    return true;
  }

  async list(): Promise<JobState[]> {
    return (await this.db.query(
      `SELECT name, last_success_at AS "lastSuccessAt", last_error AS "lastError",
         extract(epoch FROM clock_timestamp() - last_success_at)::float8 AS "ageSeconds" FROM job_lease ORDER BY name`,
    )) as JobState[];
  }

  private async claim(name: string, seconds: number): Promise<boolean> {
    const rows = (await this.db.query(
      `INSERT INTO job_lease AS j (name, owner, lease_until) VALUES ($1, $2, clock_timestamp() + interval '${LEASE_SECONDS} seconds')
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
         WHERE (j.owner IS NULL OR j.lease_until < clock_timestamp())
           AND (j.last_success_at IS NULL OR $3::float8 = 0 OR j.last_success_at <= clock_timestamp() - make_interval(secs => $3::float8))
       RETURNING name`,
      [name, WORKER_ID, seconds],
    )) as unknown[];
    return rows.length > 0;
  }

  private async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await underLease(RENEW_EVERY_MS, () => this.renew(name), work);
      await this.release(name, null);
      return result;
    } catch (error) {
      const said = truncate(error instanceof Error ? error.message : String(error), MAX_ERROR_CHARACTERS);
      // If the database is the cause of the failure, the lease expires by itself.
      await this.release(name, said).catch(() => undefined);
      throw error;
    }
  }

  private async renew(name: string): Promise<void> {
    await this.db.query(
      `UPDATE job_lease SET lease_until = clock_timestamp() + interval '${LEASE_SECONDS} seconds' WHERE name = $1 AND owner = $2`,
      [name, WORKER_ID],
    );
  }

  private async release(name: string, fault: string | null): Promise<void> {
    await this.db.query(
      `UPDATE job_lease SET owner = NULL, last_error = $3::text,
         last_success_at = CASE WHEN $3::text IS NULL THEN clock_timestamp() ELSE last_success_at END
       WHERE name = $1 AND owner = $2`,
      [name, WORKER_ID, fault],
    );
  }
}
