import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from '../../scripts/lib/ports.mjs';

const HOME = '/usr/lib/postgresql';
const PASSWORD = 'only-for-this-proof';

/** A server of the installed PostgreSQL, which includes pg_dump, pg_restore and pg_basebackup, unlike the npm package. */
export interface InstalledPostgres {
  readonly bin: string;
  url(database: string): string;
  /** Runs a statement as the superuser. */
  sql<Row extends object>(text: string, database?: string): Promise<Row[]>;
  stop(): Promise<void>;
}

/** Returns the directory of the installed programs, or undefined if PostgreSQL is not installed. */
export function installedPrograms(): string | undefined {
  const versions = existsSync(HOME) ? readdirSync(HOME) : [];
  const places = versions.map((version) => join(HOME, version, 'bin'));
  return places.find((bin) => ['initdb', 'postgres', 'pg_dump', 'psql'].every((name) => existsSync(join(bin, name))));
}

/**
 * Starts a server. PostgreSQL refuses to run as root, so as root it runs as the account `postgres` created by its package.
 *
 * @param data data directory; created if it does not exist, otherwise reused
 */
export async function startInstalled(bin: string, data: string): Promise<InstalledPostgres> {
  const account: Partial<Account> = process.getuid?.() === 0 ? accountOf('postgres') : {};
  if (!existsSync(data)) initialise(bin, data, account);
  else if (account.uid !== undefined) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, data]);
  const port = await freePort();
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    wal_level: 'replica',
  };
  const args = Object.entries({ ...settings, max_connections: '200' }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = spawn(join(bin, 'postgres'), ['-D', data, ...args], {
    ...account,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-10_000)));
  const url = (database: string) => `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
  await answers(url('postgres'), child, () => log);
  return {
    bin,
    url,
    sql: <Row extends object>(text: string, database = 'postgres') => query<Row>(url(database), text),
    stop: async () => {
      child.kill('SIGINT');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

function initialise(bin: string, data: string, account: Partial<Account>): void {
  mkdirSync(data, { mode: 0o700 });
  const password = `${data}.password`;
  writeFileSync(password, PASSWORD, { mode: 0o600 });
  if (account.uid !== undefined && account.gid !== undefined)
    for (const path of [data, password]) chownSync(path, account.uid, account.gid);
  const how = [
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${password}`,
    '--encoding=UTF8',
    '--locale=C.UTF-8',
  ];
  execFileSync(join(bin, 'initdb'), ['-D', data, ...how], { ...account, cwd: '/', stdio: 'pipe' });
  chmodSync(data, 0o700);
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

function accountOf(name: string): Account {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':').map(Number);
  if (uid === undefined || gid === undefined) throw new Error(`there is no account ${name}`);
  return { uid, gid };
}

async function answers(url: string, child: ChildProcess, log: () => string): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(200)) {
    if (child.exitCode !== null) break;
    if (await query(url, 'SELECT 1').catch(() => undefined)) return;
  }
  throw new Error(`PostgreSQL does not start:\n${log()}`);
}

async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
