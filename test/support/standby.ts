import { execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type PrivatePostgres, startPostgres } from '../../scripts/lib/postgres.mjs';

/** Starts a hot standby of a running server from a base backup in `dir`. The standby uses no replication slot, and commits do not wait for the standby. */
export async function startStandby(primary: PrivatePostgres, dir: string): Promise<PrivatePostgres> {
  const backup = new Client({ connectionString: primary.adminUrl });
  await backup.connect();
  await backup.query(`SELECT pg_backup_start('standby', true)`);
  // Files may disappear during the copy because of concurrent changes, which the standby later replays from the write-ahead log.
  execFileSync('sh', ['-c', 'cp -a "$1" "$2" || true', 'sh', primary.directory, dir], { stdio: 'ignore' });
  const { rows } = await backup.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
  await backup.end();
  const data = join(dir, 'data');
  for (const name of ['data/postmaster.pid', 'port', 'postgres.log']) rmSync(join(dir, name), { force: true });
  const { uid, gid } = statSync(data);
  const own = (name: string, text: string) => {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    chownSync(join(data, name), uid, gid);
  };
  own('backup_label', rows[0]?.labelfile ?? '');
  own('standby.signal', '');
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary.adminUrl}'\n`);
  return startPostgres({ dir });
}
