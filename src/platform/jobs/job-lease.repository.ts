import { Injectable } from '@nestjs/common';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import { truncate } from '../text/truncate.js';
import { underLease, WORKER_ID } from './claim.js';

/** A job that one process does at a time, and when it was last done. */
@Entity('job_lease')
export class JobLease {
  @PrimaryColumn('text')
  name: string;

  /** The process that does it now; null between two runs. */
  @Column('uuid', { nullable: true })
  owner: string | null;

  /** A process that has died renews it no more, and another takes the job. */
  @Column('timestamptz')
  leaseUntil: Date;

  @Column('timestamptz', { nullable: true })
  lastSuccessAt: Date | null;

  /** Of the last run that failed after the last success; null when none has. */
  @Column('text', { nullable: true })
  lastError: string | null;
}

/** BACKUP_JOB is the row under which `sealwright-admin backup` records its outcome. No process claims it. */
export const BACKUP_JOB = 'backup';

const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5000;
const MAX_ERROR_CHARACTERS = 500;

/** A job as the last processes left it. */
export interface JobState {
  readonly name: string;
  readonly lastSuccessAt: Date | null;
  /** Seconds since then, by the clock of the database. */
  readonly ageSeconds: number | null;
  readonly lastError: string | null;
}

/**
 * Jobs that one process does at a time, whoever it is. The lease is a row and not a lock of a session: it holds with a pool of connections in
 * between, costs no connection while the job runs, and shows when the job was last done. Work under it must bear that a process whose
 * renewals did not arrive does it at the same time.
 */
@Injectable()
export class JobLeases {
  constructor(private readonly db: DataSource) {}

  /** Does the work unless another process does it now; undefined then. */
  async alone<Result>(name: string, work: () => Promise<Result>): Promise<{ readonly result: Result } | undefined> {
    return (await this.claim(name, 0)) ? { result: await this.run(name, work) } : undefined;
  }

  /** Does the work unless another process does it now, or it was done within the last `seconds`. Answers whether it did. */
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
      // The lease runs out by itself when the database is what has failed.
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
