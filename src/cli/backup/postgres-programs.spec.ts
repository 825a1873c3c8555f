import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Config } from '../../platform/config/config.js';
import { ended, findPrograms, startProgram } from './postgres-programs.js';

const SERVER = { host: 'db2.example', port: 6543 };

/** Creates a directory with an executable shell script. */
function programs(name: string, script: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-programs-'));
  writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(directory, name), 0o755);
  return directory;
}

const versioned = (version: string) => programs('pg_dump', `echo 'pg_dump (PostgreSQL) ${version} (Debian)'`);

describe('the PostgreSQL programs', () => {
  it.each([
    ['17.2', '17.0'],
    ['17.2', '18.1'],
    ['15.6', '15.14'],
  ])('for server %s may be version %s', async (server, version) => {
    expect(await findPrograms(server, versioned(version))).toMatchObject({ version });
  });

  it('are rejected if older than the server, reporting the required and the installed version', async () => {
    const refused = findPrograms('17.2', versioned('15.6'));
    await expect(refused).rejects.toThrow('of version 17 or later are required');
    await expect(findPrograms('17.2', versioned('15.6'))).rejects.toThrow('Installed: 15.6');
    await expect(findPrograms('17.2', join(tmpdir(), 'nowhere'))).rejects.toThrow('None are installed');
  });

  it('receive the password in their environment, never in their arguments', async () => {
    const seen = join(mkdtempSync(join(tmpdir(), 'sealwright-seen-')), 'seen');
    const directory = programs('psql', `{ echo "args $*"; env; } > ${seen}`);
    const config = new Config({
      SVC_DATABASE_URL: 'postgresql://me:s3cret@db1.example,db2.example/signing?sslmode=verify-full',
    });
    const child = startProgram({ directory, version: '17.2' }, 'psql', ['--file=-'], { config, server: SERVER });
    child.stdin?.end();
    await ended(child, 'psql');
    const [args = '', ...env] = readFileSync(seen, 'utf8').split('\n');
    expect(args).toBe('args --file=-');
    expect(env).toEqual(
      expect.arrayContaining(['PGPASSWORD=s3cret', 'PGHOST=db2.example', 'PGPORT=6543', 'PGUSER=me']),
    );
    expect(env).toEqual(expect.arrayContaining(['PGDATABASE=signing', 'PGSSLMODE=verify-full']));
    expect(env.filter((line) => line.startsWith('SVC_'))).toEqual([]);
  });

  it('fail the command with their own error message', async () => {
    const directory = programs('pg_dump', `echo 'pg_dump: error: connection was lost' >&2; exit 1`);
    const child = startProgram({ directory, version: '17.2' }, 'pg_dump', [], undefined);
    await expect(ended(child, 'pg_dump')).rejects.toThrow('pg_dump failed (1): pg_dump: error: connection was lost');
  });

  it('fail the command when killed or missing', async () => {
    const killed = startProgram({ directory: programs('psql', 'kill -9 $$'), version: '1' }, 'psql', [], undefined);
    await expect(ended(killed, 'psql')).rejects.toThrow('psql failed (SIGKILL)');
    const missing = startProgram({ directory: '/nowhere', version: '1' }, 'psql', [], undefined);
    await expect(ended(missing, 'psql')).rejects.toThrow('ENOENT');
  });
});
