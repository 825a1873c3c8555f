import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Config, programEnvironment } from '../../platform/config/config.js';
import { AdminError } from '../command.js';

type Program = 'pg_dump' | 'pg_restore' | 'pg_basebackup' | 'psql';

/** PostgresPrograms locates the PostgreSQL client programs of one version. */
export interface PostgresPrograms {
  /** Directory of the programs; empty if they are found on PATH. */
  readonly directory: string;
  /** Version, such as `17.2`. */
  readonly version: string;
}

/** Directories in which distributions install several versions side by side. */
const HOMES = ['/usr/lib/postgresql', '/usr/pgsql', '/opt/homebrew/opt', '/usr/local/opt'];
const SYSTEM_AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const MAX_SAID_BYTES = 2000;

/**
 * findPrograms returns the client programs for a server: the programs of its major version, otherwise of the next later version. Programs of earlier versions
 * reject the server or omit features that they do not support. Throws AdminError if no suitable programs are installed.
 *
 * @param directory directory given by the operator; no other directory is searched
 */
export async function findPrograms(serverVersion: string, directory?: string): Promise<PostgresPrograms> {
  // PATH comes last, because programs on PATH may be wrappers that select a version from these directories.
  const places = directory === undefined ? [...(await installedPlaces()), ''] : [directory];
  const found = (await Promise.all(places.map(programsIn))).flatMap((programs) => programs ?? []);
  const [fitting] = found
    .filter(({ version }) => majorOf(version) >= majorOf(serverVersion))
    .sort((one, other) => majorOf(one.version) - majorOf(other.version));
  if (fitting !== undefined) return fitting;
  const there = [...new Set(found.map(({ version }) => version))].join(', ');
  throw new AdminError(
    `The server is PostgreSQL ${serverVersion}, so pg_dump, pg_restore and psql of version ${majorOf(serverVersion)} or later are required on this machine. ${there === '' ? 'None are installed' : `Installed: ${there}`}. On Debian, install postgresql-client-${majorOf(serverVersion)}. If they are in another directory, specify it with --postgres-bin DIRECTORY.`,
  );
}

/** majorOf returns the major version, such as 17 for `17.2`. */
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

/** Server is the configured database host to which the command is connected. `pg_dump --snapshot` must use the host that exported the snapshot. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** startProgram starts a program that connects to the database. The password is passed in the environment, because other accounts can read arguments. */
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

/** ended resolves when the program exits with code 0, and otherwise rejects with the last part of stderr. The caller must read or discard stdout. */
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
    // Timeouts configured for the role could abort a long copy.
    PGOPTIONS: `${parameters['options'] ?? ''} -c statement_timeout=0 -c idle_in_transaction_session_timeout=0`.trim(),
    PGCONNECT_TIMEOUT: '10',
    PGAPPNAME: `sealwright-admin ${program}`,
  };
}
