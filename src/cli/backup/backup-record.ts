import { type Config } from '../../platform/config/config.js';
import { BACKUP_JOB } from '../../platform/work/job-lease.repository.js';
import { connected } from './database-snapshot.reader.js';

/**
 * recordBackup stores the outcome of a backup as the last run of the job `backup`, which metrics, alert rules and `doctor` read. Rejects if the database is not
 * writable.
 * @param fault why the backup failed; undefined if it succeeded
 * @param at time of the data in the backup; ignored unless later than the recorded time
 */
export async function recordBackup(config: Config, { at, fault }: { at: Date; fault?: string }): Promise<void> {
  const client = await connected(config);
  try {
    await client.query(
      `INSERT INTO job_lease AS j (name, lease_until, last_success_at, last_error)
       VALUES ($1, clock_timestamp(), CASE WHEN $3::text IS NULL THEN $2::timestamptz END, left($3::text, 500))
       ON CONFLICT (name) DO UPDATE SET last_error = excluded.last_error,
         last_success_at = greatest(j.last_success_at, excluded.last_success_at)`,
      [BACKUP_JOB, at, fault ?? null],
    );
  } finally {
    await client.end();
  }
}
