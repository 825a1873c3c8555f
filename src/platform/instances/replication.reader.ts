/** Replication is the replication state of a session's server, as visible to an ordinary role. */
export interface Replication {
  /** `synchronous_standby_names`; empty if commits do not wait for a standby. */
  readonly names: string;
  /** `synchronous_commit` of the session. */
  readonly commit: string;
  /** Number of connected standbys, including running base backups. */
  readonly standbys: number;
}

/**
 * Values of `synchronous_commit` with which a commit returns only after a synchronous standby has flushed the commit to disk (PostgreSQL manual, section
 * 20.5).
 */
const CONFIRMED = ['on', 'remote_apply'];

/** asynchronousFault returns why a failover could lose acknowledged commits; undefined if every acknowledged commit is on two machines. */
export function asynchronousFault({ names, commit, standbys }: Replication): string | undefined {
  const followers = standbys === 1 ? '1 standby connected' : `${standbys} standbys connected`;
  if (names === '')
    return `commits do not wait for a standby (synchronous_standby_names is empty, ${followers}), so a failover can lose the last acknowledged writes`;
  if (!CONFIRMED.includes(commit))
    return `commits do not wait until a standby has flushed them (synchronous_commit=${commit}), so a failover can lose the last acknowledged writes`;
  return undefined;
}

/** synchronousDetail describes working replication in one line for the operator. */
export function synchronousDetail({ names, standbys }: Replication): string {
  if (standbys === 0) return `nothing can be committed: commits wait for ${names}, but no standby is connected`;
  return `commits are acknowledged once a standby (${names}) has flushed them`;
}

/** Query for the replication state. All roles can count the rows of `pg_stat_replication`, but only pg_read_all_stats can read their content. */
const REPLICATION = `SELECT current_setting('synchronous_standby_names') AS names, current_setting('synchronous_commit') AS commit,
  (SELECT count(*)::int FROM pg_stat_replication) AS standbys`;

/**
 * readReplication reads the replication state of a connection's server. Rejects if the server does not respond.
 * @param query runs one statement on the connection
 */
export async function readReplication(query: (text: string) => Promise<readonly Replication[]>): Promise<Replication> {
  const [row] = await query(REPLICATION);
  if (row === undefined) throw new Error('the database returned no rows');
  return row;
}
