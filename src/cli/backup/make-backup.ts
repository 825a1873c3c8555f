import { createPublicKey } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { tellWitness } from '../../audit/log/witness.js';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { type Config, softHsmConfiguration } from '../../platform/config/config.js';
import { witnessAddressFault } from '../../platform/config/witness-address.js';
import { epochFault, PRODUCT_BUILD } from '../../platform/observability/product-version.js';
import { AdminError, ADMIN_EXIT } from '../command.js';
import { prepareDirectory } from './backup-directory.js';
import { type DatabaseSnapshot, openSnapshot } from './database-snapshot.reader.js';
import {
  CHECKPOINT_FILE,
  type DatabaseCopyWay,
  DUMP_FILE,
  filesOf,
  type BackupManifest,
  MANIFEST_FILE,
  MANIFEST_FORMAT,
  pathsBelow,
  sha256Of,
} from './manifest.js';
import { ended, findPrograms, type PostgresPrograms, startProgram } from './postgres-programs.js';
import { copyToken, isSoftHsm, overlap, TOKEN_DIRECTORY, tokenDirectory } from './token-copy.js';
import { assertSound } from './verify-backup.js';

const BASE_DIRECTORY = 'database';
const SETTINGS_FILE = 'settings.env';
const LOG_KEY_FILE = 'log-key.pem';
/** Suffix of the directory that contains an unfinished backup. */
const UNFINISHED = '.partial';
const MB = 1024 * 1024;
/** Upper bound for the ratio of the dump size to the database size. A dump is compressed and contains no indexes. */
const DUMP_SHARE = 1 / 2;
/** Free space that a backup leaves on the disk. A token that is stored in files stops working when the disk is full. */
const MIN_LEFT_BYTES = 64 * MB;

export interface BackupOrder {
  readonly config: Config;
  /** Parent directory of the backup directory. */
  readonly out: string;
  readonly way: DatabaseCopyWay;
  /** File or https URL of a witness that records the backup. */
  readonly witness?: string | undefined;
  /** Directory of the PostgreSQL client programs. */
  readonly programs?: string | undefined;
  readonly signal: AbortSignal;
  /** Called with a progress message for each step. */
  readonly says: (line: string) => void;
}

export interface MadeBackup {
  readonly directory: string;
  readonly manifest: BackupManifest;
  readonly manifestSha256: string;
  /** Newest checkpoint in the backup, as a signed note. */
  readonly checkpoint: string | undefined;
}

/**
 * makeBackup creates a backup. The database is copied before the token, so that the copied token has every key that the copied database references. The
 * directory gets its final name after all files are on disk and verified, and is removed on failure.
 */
export async function makeBackup(order: BackupOrder): Promise<MadeBackup> {
  const { config, says } = order;
  const unusable = order.witness === undefined ? undefined : witnessAddressFault(order.witness);
  if (unusable !== undefined) throw new AdminError(`--witness ${unusable}`, ADMIN_EXIT.usage);
  const out = resolve(order.out);
  const tokens = isSoftHsm(config.pkcs11Library) ? await tokenDirectory(softHsmConfiguration()) : undefined;
  if (tokens !== undefined && overlap(out, tokens))
    throw new AdminError(
      `${out} contains the token (${tokens}): write the backup to another directory`,
      ADMIN_EXIT.usage,
    );
  await prepareDirectory(out);
  await tellUnfinished(out, says);
  const snapshot = await openSnapshot(config);
  try {
    assertSchema(snapshot);
    const programs = await findPrograms(snapshot.serverVersion, order.programs);
    await assertRoom(out, snapshot, order.way);
    const name = `sealwright-${stampOf(snapshot.takenAt)}`;
    const draft = join(out, `${name}${UNFINISHED}`);
    await mkdir(draft, { mode: 0o700 });
    try {
      return await fill(draft, { ...order, snapshot, programs, tokens, name });
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw order.signal.aborted ? new AdminError('Interrupted. The partial backup was removed.') : explained(error);
    }
  } finally {
    await snapshot.close().catch(() => undefined);
  }
}

interface Work extends Omit<BackupOrder, 'programs'> {
  readonly snapshot: DatabaseSnapshot;
  readonly programs: PostgresPrograms;
  /** Directory of the SoftHSM tokens; undefined for another HSM. */
  readonly tokens: string | undefined;
  readonly name: string;
}

async function fill(draft: string, work: Work): Promise<MadeBackup> {
  const { snapshot, tokens, says, signal, name } = work;
  says(`PostgreSQL ${snapshot.serverVersion}, ${Math.ceil(snapshot.bytes / MB)} MB on disk …`);
  await copyDatabase(draft, work);
  signal.throwIfAborted();
  if (tokens !== undefined) {
    says(`the token in ${tokens} …`);
    await copyToken(tokens, join(draft, TOKEN_DIRECTORY));
  }
  await writePrivate(join(draft, SETTINGS_FILE), work.config.settingsWithoutSecrets);
  if (snapshot.log !== undefined) {
    await writePrivate(join(draft, CHECKPOINT_FILE), snapshot.log.note);
    await writePrivate(join(draft, LOG_KEY_FILE), pemOf(snapshot.log.publicKey));
  }
  const manifest = await manifestOf(draft, work);
  await writePrivate(join(draft, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
  await toDisk(draft);
  says('verifying …');
  await assertSound(draft, { signal, programs: work.programs });
  signal.throwIfAborted();
  const directory = join(dirname(draft), name);
  await rename(draft, directory);
  await syncPath(dirname(draft));
  const manifestSha256 = await sha256Of(join(directory, MANIFEST_FILE));
  return { directory, manifest, manifestSha256, checkpoint: snapshot.log?.note };
}

/** testify reports a finished backup to the witness. Rejects if the witness does not accept the report; the backup is kept. */
export async function testify(witness: string, { manifest, manifestSha256, checkpoint }: MadeBackup): Promise<void> {
  await tellWitness(witness, { at: manifest.madeAt, backup: manifest.name, manifestSha256, checkpoint });
}

async function copyDatabase(draft: string, { config, snapshot, programs, way, signal }: Work): Promise<void> {
  const connection = { config, server: snapshot.server };
  const to = join(draft, way === 'logical' ? DUMP_FILE : BASE_DIRECTORY);
  const [name, args] =
    way === 'logical'
      ? ([
          'pg_dump',
          ['--format=custom', '--no-password', '--lock-wait-timeout=30s', `--snapshot=${snapshot.id}`, `--file=${to}`],
        ] as const)
      : ([
          'pg_basebackup',
          ['--format=tar', '--no-password', '--wal-method=stream', '--checkpoint=fast', `--pgdata=${to}`],
        ] as const);
  const child = startProgram(programs, name, args, connection, signal);
  child.stdin?.end();
  child.stdout?.resume();
  await ended(child, name);
}

async function manifestOf(
  draft: string,
  { config, snapshot, programs, tokens, way, name }: Work,
): Promise<BackupManifest> {
  const { note: _inItsOwnFile, ...log } = snapshot.log ?? {};
  return {
    format: MANIFEST_FORMAT,
    name,
    madeAt: snapshot.takenAt.toISOString(),
    version: PRODUCT_BUILD,
    schema: snapshot.schema,
    database: { way, server: snapshot.serverVersion, program: programs.version },
    ...(snapshot.log && { log: log as BackupManifest['log'] }),
    token: {
      way: tokens === undefined ? 'elsewhere' : 'softhsm',
      label: config.pkcs11TokenLabel,
      module: basename(config.pkcs11Library),
    },
    files: await filesOf(draft),
  };
}

/**
 * assertSchema rejects a schema that is newer than this version, because its backup could be incomplete. An older schema is allowed, because a backup is
 * made before each migration; `restore run` reports missing migrations.
 */
function assertSchema({ schema }: DatabaseSnapshot): void {
  const fault = epochFault(schema);
  if (fault !== undefined) throw new AdminError(fault);
}

async function assertRoom(out: string, { bytes }: DatabaseSnapshot, way: DatabaseCopyWay): Promise<void> {
  const { bavail, bsize } = await statfs(out);
  const needed = Math.ceil(way === 'base' ? bytes : bytes * DUMP_SHARE) + MIN_LEFT_BYTES;
  if (bavail * bsize >= needed) return;
  const mb = (count: number) => `${Math.ceil(count / MB)} MB`;
  throw new AdminError(`Not enough space in ${out}: ${mb(bavail * bsize)} are free, up to ${mb(needed)} are needed.`);
}

async function tellUnfinished(out: string, says: (line: string) => void): Promise<void> {
  const names = (await readdir(out)).filter((name) => name.endsWith(UNFINISHED));
  for (const name of names)
    says(
      `${join(out, name)} is incomplete or still being created. It is not a backup. Remove it once no process is writing to it.`,
    );
}

function stampOf(time: Date): string {
  return time.toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function explained(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AdminError('The disk is full. The partial backup was removed.');
  return error;
}

function writePrivate(file: string, text: string): Promise<void> {
  return writeFile(file, text, { mode: 0o600 });
}

function pemOf(publicKey: string): string {
  const key = createPublicKey({ key: base64Bytes(publicKey), format: 'der', type: 'spki' });
  return key.export({ format: 'pem', type: 'spki' }).toString();
}

/** Syncs all files and directories below `directory` to disk. */
async function toDisk(directory: string): Promise<void> {
  const files = await pathsBelow(directory);
  const folders = new Set(files.map((path) => dirname(join(directory, path))));
  for (const path of [...files.map((file) => join(directory, file)), ...folders, directory]) await syncPath(path);
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
