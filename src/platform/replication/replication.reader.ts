/** How the server that a session is on replicates, as far as an ordinary role may see it. */
export interface Replication {
  /** `synchronous_standby_names`; empty: no commit waits for a standby. */
  readonly names: string;
  /** `synchronous_commit` of the session. */
  readonly commit: string;
  /** Standbys that stream from it now; base backups count as well. */
  readonly standbys: number;
}

/** For these values of `synchronous_commit` a commit returns once a synchronous standby has it on disk (PostgreSQL manual, section 20.5). */
const CONFIRMED = ['on', 'remote_apply'];

/** Undefined when what is acknowledged is on two machines, so that no fail-over loses it; otherwise why it is not. */
export function asynchronousFault({ names, commit, standbys }: Replication): string | undefined {
  const followers = standbys === 1 ? '1 standby follows' : `${standbys} standbys follow`;
  if (names === '')
    return `commits do not wait for a standby (synchronous_standby_names is empty, ${followers}): a failover can lose the last acknowledged writes`;
  if (!CONFIRMED.includes(commit))
    return `commits do not wait until a standby has flushed them (synchronous_commit=${commit}): a failover can lose the last acknowledged writes`;
  return undefined;
}

/** One line for the operator about replication that is as it should be. */
export function synchronousDetail({ names, standbys }: Replication): string {
  if (standbys === 0) return `commits wait for ${names}, and no standby follows: nothing can be committed`;
  return `a standby (${names}) has flushed each commit before it is acknowledged`;
}

/** Rows of `pg_stat_replication` are seen by every role, what they say only by pg_read_all_stats: they are only counted. */
const REPLICATION = `SELECT current_setting('synchronous_standby_names') AS names, current_setting('synchronous_commit') AS commit,
  (SELECT count(*)::int FROM pg_stat_replication) AS standbys`;

/** Reads it from the server of a connection; `query` runs one statement there. Rejects when the server does not answer. */
export async function readReplication(query: (text: string) => Promise<readonly Replication[]>): Promise<Replication> {
  const [row] = await query(REPLICATION);
  if (row === undefined) throw new Error('the database answered nothing');
  return row;
}
