import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AdminError } from '../command.js';
import { readJson } from '../../platform/json/strict-json.js';

export const MANIFEST_FILE = 'manifest.json';
/** Of a logical copy. */
export const DUMP_FILE = 'database.dump';
export const CHECKPOINT_FILE = 'checkpoint.txt';
/** A version of the product reads the formats up to its own. */
export const MANIFEST_FORMAT = 1;
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

/** A file of a backup. */
interface BackupFile {
  /** Below the directory of the backup, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

/** The audit log in the database of a backup. */
export interface BackedUpLog {
  /** Name in checkpoints. */
  readonly origin: string;
  /** Leaves under the newest checkpoint of the database. */
  readonly size: number;
  /** Their root, base64. */
  readonly root: string;
  /** SubjectPublicKeyInfo of the key that signs checkpoints, DER in base64. */
  readonly publicKey: string;
}

/** `softhsm`: the directory of SoftHSM's tokens is in the backup. `elsewhere`: another HSM, which is backed up by its own means. */
export type TokenCopyWay = 'softhsm' | 'elsewhere';

/** `logical`: pg_dump, restored by `restore run`. `base`: pg_basebackup, restored by PostgreSQL's own means. */
export type DatabaseCopyWay = 'logical' | 'base';

/** What a backup is of, written last: a directory without it is no backup. */
export interface BackupManifest {
  readonly format: number;
  readonly name: string;
  /** Time of the database's snapshot, ISO 8601. */
  readonly madeAt: string;
  /** Version of the product. */
  readonly version: string;
  readonly schema: { readonly migrations: readonly string[]; readonly minReader: number; readonly minWriter: number };
  readonly database: {
    readonly way: DatabaseCopyWay;
    /** Version of the server, like `17.2`. */
    readonly server: string;
    /** Version of the program that wrote it. */
    readonly program: string;
  };
  /** Undefined when no checkpoint was signed yet. */
  readonly log?: BackedUpLog | undefined;
  readonly token: { readonly way: TokenCopyWay; readonly label: string; readonly module: string };
  readonly files: readonly BackupFile[];
}

/** Reads and checks the manifest of a backup. AdminError when there is none, or when it is of a later version of the product. */
export async function readManifest(directory: string): Promise<BackupManifest> {
  const file = join(directory, MANIFEST_FILE);
  const { size = 0 } = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES') throw new AdminError(unreadable(directory));
    return { size: undefined };
  });
  if (size === 0 || size > MAX_MANIFEST_BYTES) {
    throw new AdminError(`${directory} is not a backup: it has no ${MANIFEST_FILE}. An interrupted backup has none.`);
  }
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EACCES' ? new AdminError(unreadable(directory)) : error;
  });
  const manifest = parsed(text);
  if (manifest === undefined) throw new AdminError(`${file} is damaged: it cannot be read.`);
  if (manifest.format > MANIFEST_FORMAT) {
    throw new AdminError(
      `The backup was made by version ${manifest.version}, in a format that this version does not support. Use that version.`,
    );
  }
  return manifest;
}

/** A copy that root put back belongs to root, and commands run as the account of the service. */
function unreadable(directory: string): string {
  return `${directory} cannot be read by this account. Run: chown -R sealwright: ${directory}`;
}

function parsed(text: string): BackupManifest | undefined {
  try {
    const found = readJson(text) as Partial<BackupManifest> | null;
    return found !== null && isManifest(found) ? (found as BackupManifest) : undefined;
  } catch {
    return undefined;
  }
}

function isManifest(found: Partial<BackupManifest>): boolean {
  const texts = [found.name, found.madeAt, found.version, found.database?.server, found.token?.label];
  if (!Number.isSafeInteger(found.format) || texts.some((text) => typeof text !== 'string')) return false;
  if (found.format !== MANIFEST_FORMAT) return true;
  return (
    ['logical', 'base'].includes(found.database?.way ?? '') &&
    ['softhsm', 'elsewhere'].includes(found.token?.way ?? '') &&
    Array.isArray(found.schema?.migrations) &&
    Array.isArray(found.files) &&
    found.files.every(isFile)
  );
}

/** No path leads out of the directory of the backup. */
function isFile({ path, bytes, sha256 }: Partial<BackupFile>): boolean {
  const parts = typeof path === 'string' ? path.split('/') : [''];
  return (
    parts.every((part) => part !== '' && part !== '.' && part !== '..') &&
    Number.isSafeInteger(bytes) &&
    /^[0-9a-f]{64}$/.test(String(sha256))
  );
}

/** Every file below a directory but the manifest, by path. A link or a device is refused: it would lead elsewhere when it is restored. */
export async function filesOf(directory: string): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const path of await pathsBelow(directory)) {
    if (path === MANIFEST_FILE) continue;
    const full = join(directory, path);
    const entry = await lstat(full);
    if (!entry.isFile()) throw new AdminError(`${full} is neither a file nor a directory`);
    files.push({ path, bytes: entry.size, sha256: await sha256Of(full) });
  }
  return files;
}

/** Paths of everything but directories, with `/`, in the order of their code units. */
export async function pathsBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
