import { once } from 'node:events';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Writable } from 'node:stream';
import { type Config, softHsmConfiguration } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import { isSuperseded, tooOldFault } from '../../platform/database/migrations/superseded-migrations.js';
import { MIGRATION_NAMES } from '../../platform/observability/product-version.js';
import { countRelations } from '../backup/database-snapshot.reader.js';
import { DUMP_FILE, type BackupManifest } from '../backup/manifest.js';
import {
  ended,
  findPrograms,
  majorOf,
  type PostgresPrograms,
  type Server,
  startProgram,
} from '../backup/postgres-programs.js';
import { isSoftHsm, putToken, TOKEN_DIRECTORY, tokenDirectory } from '../backup/token-copy.js';
import { assertSound } from '../backup/verify-backup.js';
import { AdminError } from '../command.js';

interface RestoreOrder {
  readonly config: Config;
  readonly directory: string;
  /** Directory of the PostgreSQL client programs. */
  readonly programs?: string | undefined;
  readonly signal: AbortSignal;
  readonly says: (line: string) => void;
}

export interface Restored {
  readonly manifest: BackupManifest;
  /** Whether the token of the backup was installed; false if a token already existed, undefined if the backup contains no token. */
  readonly token: boolean | undefined;
  /** Number of this version's migrations that the restored database lacks. */
  readonly missingMigrations: number;
}

/**
 * restoreBackup restores a backup into an empty database and its token into an empty directory. The transaction that restores the data also puts the
 * database into restore mode, so an interrupted restore can be repeated.
 */
export async function restoreBackup(order: RestoreOrder): Promise<Restored> {
  const { config, directory, signal, says } = order;
  const found = await findTarget(order);
  says('reading the backup …');
  const manifest = await assertSound(directory, { signal, programs: found.programs });
  assertRestorable(manifest, found.server);
  const token = await restoreToken(manifest, directory, config);
  says(`database ${config.database.database} …`);
  await restoreDatabase(order, manifest, found);
  return {
    manifest,
    token,
    missingMigrations: MIGRATION_NAMES.filter((name) => !manifest.schema.migrations.includes(name)).length,
  };
}

interface Target {
  readonly programs: PostgresPrograms;
  readonly server: Server & { readonly version: string };
}

async function findTarget({ config, programs }: RestoreOrder): Promise<Target> {
  const { server, version, relations } = await countRelations(config);
  if (relations > 0) {
    throw new AdminError(
      `Database ${config.database.database} is not empty: it has ${relations} relations. Keep this database, even if it is damaged, and create an empty database: ALTER DATABASE … RENAME TO …; CREATE DATABASE ….`,
    );
  }
  return { programs: await findPrograms(version, programs), server: { ...server, version } };
}

function assertRestorable({ version, schema, database }: BackupManifest, server: { readonly version: string }): void {
  if (database.way === 'base') {
    throw new AdminError(
      'This is a base backup: restore it with PostgreSQL and the WAL archive (docs/restore.md, "From a base backup"). Then run: sealwright-admin restore hold',
    );
  }
  const tooOld = tooOldFault(schema.migrations);
  if (tooOld !== undefined)
    throw new AdminError(
      `The backup was made by version ${version}, and its schema is too old for this version. Restore it with version ${version}. ${tooOld}`,
    );
  const later = schema.migrations.filter((name) => !MIGRATION_NAMES.includes(name) && !isSuperseded(name));
  if (later.length > 0) {
    throw new AdminError(
      `The backup was made by version ${version}: its schema has ${later.length} migrations that this version does not have, starting with ${later[0]}. Restore it with version ${version} or later.`,
    );
  }
  if (majorOf(database.server) > majorOf(server.version)) {
    throw new AdminError(
      `The backup is from PostgreSQL ${database.server}, but the server is ${server.version}, and downgrading is not possible. Use PostgreSQL ${majorOf(database.server)} or later.`,
    );
  }
}

async function restoreToken(
  { token }: BackupManifest,
  directory: string,
  { pkcs11Library }: Config,
): Promise<boolean | undefined> {
  if (token.way === 'elsewhere' || !isSoftHsm(pkcs11Library)) return undefined;
  return putToken(join(directory, TOKEN_DIRECTORY), await tokenDirectory(softHsmConfiguration()));
}

/** Restores the dump in one transaction. PostgreSQL rolls back the uncommitted transaction, even if this process is killed. */
async function restoreDatabase(
  { config, directory, signal }: RestoreOrder,
  manifest: BackupManifest,
  target: Target,
): Promise<void> {
  const connection = { config, server: target.server };
  const args = ['--no-psqlrc', '--quiet', '--no-password', '--set=ON_ERROR_STOP=1', '--file=-'];
  const psql = startProgram(target.programs, 'psql', args, connection, signal);
  const written = ended(psql, 'psql');
  // The promise is awaited below. Until then, a rejection must not end the process.
  written.catch(() => undefined);
  const dump = startProgram(
    target.programs,
    'pg_restore',
    ['--no-owner', '--no-acl', '--no-comments', '--exit-on-error', '--file=-', join(directory, DUMP_FILE)],
    undefined,
    signal,
  );
  const input = psql.stdin;
  if (input === null || dump.stdout === null) throw new Error('a database program was started without a pipe');
  const read = ended(dump, 'pg_restore');
  read.catch(() => undefined);
  // psql closes its input when a statement fails. The error is read from the stderr of psql.
  input.on('error', () => undefined);
  try {
    input.write('BEGIN;\n');
    await pipeline(dump.stdout, passedOn(input));
    await read;
    input.end(`${holdSql(manifest)}COMMIT;\nANALYZE;\n`);
  } catch (error) {
    dump.kill('SIGKILL');
    input.destroy();
    // If psql failed, rejects with the message of psql instead of the broken pipe.
    await written;
    throw error;
  }
  await written;
}

/** Returns the SQL that puts the restored database into restore mode (RestoredDatabases), within the transaction of the restore. */
function holdSql({ name, madeAt }: BackupManifest): string {
  const values = [newId(), name, madeAt].map((value) => `'${value.replaceAll("'", "''")}'`).join(', ');
  return `INSERT INTO public.restored_database (id, backup, made_at) VALUES (${values});\n`;
}

/** Returns a stream that writes to `to` with backpressure but does not end `to`. */
function passedOn(to: Writable): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (to.destroyed) return done(new Error('psql stopped accepting input'));
      if (to.write(chunk)) return done();
      Promise.race([once(to, 'drain'), once(to, 'close')]).then(() => done(), done);
    },
  });
}
