import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Config, programEnvironment } from '../../platform/config/config.js';
import { AdminError } from '../command.js';

type Program = 'pg_dump' | 'pg_restore' | 'pg_basebackup' | 'psql';

/** PostgreSQL's client programs of one version. */
export interface PostgresPrograms {
  /** Where they are; empty when the path of this process finds them. */
  readonly directory: string;
  /** Like `17.2`. */
  readonly version: string;
}

/** Where distributions keep the programs of several versions side by side. */
const HOMES = ['/usr/lib/postgresql', '/usr/pgsql', '/opt/homebrew/opt', '/usr/local/opt'];
const SYSTEM_AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const MAX_SAID_BYTES = 2000;

/**
 * The programs to be used with a server: of its version, else of the least later one. Earlier ones refuse the server, or lose what they do
 * not know. AdminError when there is none.
 *
 * @param directory where the operator says that they are; nothing else is looked at then
 */
export async function findPrograms(serverVersion: string, directory?: string): Promise<PostgresPrograms> {
  // What the path has may be a wrapper that chooses among those: it comes last.
  const places = directory === undefined ? [...(await installedPlaces()), ''] : [directory];
  const found = (await Promise.all(places.map(programsIn))).flatMap((programs) => programs ?? []);
  const [fitting] = found
    .filter(({ version }) => majorOf(version) >= majorOf(serverVersion))
    .sort((one, other) => majorOf(one.version) - majorOf(other.version));
  if (fitting !== undefined) return fitting;
  const there = [...new Set(found.map(({ version }) => version))].join(', ');
  throw new AdminError(
    `The server is PostgreSQL ${serverVersion}: pg_dump, pg_restore and psql of version ${majorOf(serverVersion)} or later are needed on this machine. ${
      there === '' ? 'There are none' : `There are those of ${there}`
    }. On Debian: postgresql-client-${majorOf(serverVersion)}. If they are elsewhere, say so by --postgres-bin DIRECTORY.`,
  );
}

/** The first number of `17.2`. */
export function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}

async function installedPlaces(): Promise<string[]> {
  const homes = await Promise.all(
    HOMES.map(async (home) => (await readdir(home).catch(() => [])).map((name) => join(home, name, 'bin'))),
  );
  return homes.flat();
}

async function programsIn(directory: string): Promise<PostgresPrograms | undefined> {
  try {
    const { stdout } = await promisify(execFile)(join(directory, 'pg_dump'), ['--version'], {
      env: programEnvironment(),
    });
    const [, version] = /\(PostgreSQL\) (\d+\S*)/.exec(stdout) ?? [];
    return version === undefined ? undefined : { directory, version };
  } catch {
    return undefined;
  }
}

/** One server of the database: with several hosts, the one that the snapshot is of. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** Starts a program that connects to the database. The password is in its environment, which nobody else can read; not in its arguments. */
export function startProgram(
  { directory }: PostgresPrograms,
  name: Program,
  args: readonly string[],
  connection: { readonly config: Config; readonly server: Server } | undefined,
  signal?: AbortSignal,
): ChildProcess {
  const env = programEnvironment(connection === undefined ? {} : connectionOf(name, connection));
  return spawn(join(directory, name), [...args], { env, stdio: ['pipe', 'pipe', 'pipe'], ...(signal && { signal }) });
}

/** Resolves when it ended with 0; otherwise rejects with what it said. What it writes to stdout is read by the caller, or dropped. */
export async function ended(child: ChildProcess, name: Program): Promise<void> {
  let said: Buffer = Buffer.alloc(0);
  child.stderr?.on('data', (chunk: Buffer) => (said = Buffer.concat([said, chunk]).subarray(-MAX_SAID_BYTES)));
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'unknown'));
  });
  if (code !== 0) throw new AdminError(`${name} failed (${code}): ${said.toString().trim() || 'without a message'}`);
}

function connectionOf(
  program: Program,
  { config, server }: { config: Config; server: Server },
): Record<string, string> {
  const { user, password, database, isEncrypted, files, parameters } = config.database;
  const { ca = config.databaseCaFile, cert, key } = files;
  const isVerified = isEncrypted || config.databaseCaFile !== '';
  return {
    PGHOST: server.host,
    PGPORT: String(server.port),
    PGDATABASE: database,
    ...(user !== '' && { PGUSER: user }),
    PGPASSWORD: config.databasePassword === '' ? password : config.databasePassword,
    PGSSLMODE: isVerified ? 'verify-full' : 'disable',
    ...(isVerified && { PGSSLROOTCERT: ca === '' ? SYSTEM_AUTHORITIES : ca }),
    ...(cert !== undefined && { PGSSLCERT: cert }),
    ...(key !== undefined && { PGSSLKEY: key }),
    // Roles may have time-outs that a long copy would meet.
    PGOPTIONS: `${parameters['options'] ?? ''} -c statement_timeout=0 -c idle_in_transaction_session_timeout=0`.trim(),
    PGCONNECT_TIMEOUT: '10',
    PGAPPNAME: `sealwright-admin ${program}`,
  };
}
