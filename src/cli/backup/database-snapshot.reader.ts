import type { Client } from 'pg';
import type { Config } from '../../platform/config/config.js';
import { databaseClient, onAnyHost } from '../../platform/database/database-client.js';
import { sqlState, UNDEFINED_TABLE } from '../../platform/errors/database-error.js';
import { AdminError } from '../command.js';
import type { Server } from './postgres-programs.js';
import type { BackedUpLog, BackupManifest } from './manifest.js';

/** DatabaseSnapshot is a consistent view of a database at one moment. */
export interface DatabaseSnapshot {
  /** Snapshot ID for `pg_dump --snapshot`. Valid until the snapshot is closed. */
  readonly id: string;
  readonly server: Server;
  readonly takenAt: Date;
  readonly serverVersion: string;
  /** Size of the database on disk, in bytes. */
  readonly bytes: number;
  readonly schema: BackupManifest['schema'];
  readonly log: (BackedUpLog & { readonly note: string }) | undefined;
  close(): Promise<void>;
}

interface LogRow {
  readonly origin: string;
  readonly size: string;
  readonly root: Buffer;
  readonly note: string;
  readonly publicKey: Buffer;
}

/**
 * openSnapshot opens a snapshot for the dump and for the facts in the manifest, so that the dump and the manifest describe the same data despite concurrent
 * writes.
 */
export async function openSnapshot(config: Config): Promise<DatabaseSnapshot> {
  const client = await connected(config);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(`SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`);
    return { ...(await facts(client)), server: { host: client.host, port: client.port }, close: () => client.end() };
  } catch (error) {
    const explained = sqlState(error) === UNDEFINED_TABLE ? await foreignSchema(config) : error;
    await client.end().catch(() => undefined);
    throw explained;
  }
}

/** foreignSchema returns the error for a database that lacks the tables of this version. */
async function foreignSchema(config: Config): Promise<AdminError> {
  const client = await connected(config);
  try {
    const [found] = await rows<{ instances: boolean; migrations: boolean }>(
      client,
      `SELECT to_regclass('service_instance') IS NOT NULL AS instances, to_regclass('migrations') IS NOT NULL AS migrations`,
    );
    if (found?.migrations !== true)
      return new AdminError(
        `Database ${config.database.database} has no schema, so there is nothing to back up. Check SVC_DATABASE_URL.`,
      );
    const running = found.instances
      ? await rows<{ version: string }>(client, 'SELECT DISTINCT version FROM service_instance')
      : [];
    const named = running.length === 0 ? '' : ` (${running.map(({ version }) => version).join(', ')})`;
    return new AdminError(
      `The schema of ${config.database.database} is too old for this version. Back up with the version in use${named}, then migrate.`,
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** countRelations counts the relations (such as tables, indexes and sequences) outside PostgreSQL's own schemas. A restore requires that there are none. */
export async function countRelations(config: Config): Promise<{ server: Server; version: string; relations: number }> {
  const client = await connected(config);
  try {
    const [row] = await rows<{ version: string; relations: number }>(
      client,
      `SELECT split_part(current_setting('server_version'), ' ', 1) AS version, (SELECT count(*)::int FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema') AS relations`,
    );
    if (row === undefined) throw new Error('the server did not respond');
    return { ...row, server: { host: client.host, port: client.port } };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** connected connects `sealwright-admin` to the database host that accepts writes. */
export function connected(config: Config): Promise<Client> {
  return onAnyHost(config, async () => {
    const client = new (databaseClient(config))({
      application_name: 'sealwright-admin',
      connectionTimeoutMillis: 10_000,
    });
    await client.connect();
    return client;
  });
}

async function facts(client: Client): Promise<Omit<DatabaseSnapshot, 'server' | 'close'>> {
  const [row] = await rows<{ id: string; takenAt: Date; serverVersion: string; bytes: string }>(
    client,
    `SELECT pg_export_snapshot() AS id, now() AS "takenAt", split_part(current_setting('server_version'), ' ', 1) AS "serverVersion",
       pg_database_size(current_database()) AS bytes`,
  );
  const [epoch] = await rows<{ minReader: number; minWriter: number }>(
    client,
    `SELECT min_reader AS "minReader", min_writer AS "minWriter" FROM schema_epoch`,
  );
  const applied = await rows<{ name: string }>(client, 'SELECT name FROM migrations ORDER BY id');
  const [log] = await rows<LogRow>(
    client,
    `SELECT k.origin, c.size, c.root, c.note, k.public_key AS "publicKey" FROM log_checkpoint c,
       (SELECT origin, public_key FROM log_key WHERE public_key IS NOT NULL ORDER BY id DESC LIMIT 1) k ORDER BY c.size DESC LIMIT 1`,
  );
  if (row === undefined || epoch === undefined) throw new Error('the database does not report its version');
  const schema = { migrations: applied.map(({ name }) => name), ...epoch };
  return { ...row, bytes: Number(row.bytes), schema, log: log && logOf(log) };
}

function logOf({ origin, size, root, note, publicKey }: LogRow): NonNullable<DatabaseSnapshot['log']> {
  return { origin, size: Number(size), root: root.toString('base64'), note, publicKey: publicKey.toString('base64') };
}

async function rows<Row extends object>(client: Client, text: string): Promise<Row[]> {
  return (await client.query<Row>(text)).rows;
}
