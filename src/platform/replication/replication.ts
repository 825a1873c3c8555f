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
    return `no commit waits for a standby (synchronous_standby_names is empty, ${followers}): a fail-over may lose what was acknowledged in the moments before it`;
  if (!CONFIRMED.includes(commit))
    return `a commit does not wait until a standby has it on disk (synchronous_commit=${commit}): a fail-over may lose what was acknowledged in the moments before it`;
  return undefined;
}

/** One line for the operator about replication that is as it should be. */
export function synchronousDetail({ names, standbys }: Replication): string {
  if (standbys === 0) return `commits wait for ${names}, and no standby follows: nothing can be committed`;
  return `each commit is on disk at a standby (${names}) before it is acknowledged`;
}
