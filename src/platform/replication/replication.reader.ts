import type { Replication } from './replication.js';

/** Rows of `pg_stat_replication` are seen by every role, what they say only by pg_read_all_stats: they are only counted. */
const REPLICATION = `SELECT current_setting('synchronous_standby_names') AS names, current_setting('synchronous_commit') AS commit,
  (SELECT count(*)::int FROM pg_stat_replication) AS standbys`;

/** Reads it from the server of a connection; `query` runs one statement there. Rejects when the server does not answer. */
export async function readReplication(query: (text: string) => Promise<readonly Replication[]>): Promise<Replication> {
  const [row] = await query(REPLICATION);
  if (row === undefined) throw new Error('the database answered nothing');
  return row;
}
