import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AdminError } from '../command.js';
import { readJson } from '../../platform/json/strict-json.js';

export const MANIFEST_FILE = 'manifest.json';
/** Name of the dump in a logical backup. */
export const DUMP_FILE = 'database.dump';
export const CHECKPOINT_FILE = 'checkpoint.txt';
/** Format written by this version. Every version also reads all earlier formats. */
export const MANIFEST_FORMAT = 1;
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

interface BackupFile {
  /** Path relative to the backup directory, separated by `/`. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 in lowercase hexadecimal. */
  readonly sha256: string;
}

/** State of the audit log in a backup's database. */
export interface BackedUpLog {
  /** Name of the log in checkpoints. */
  readonly origin: string;
  /** Number of leaves covered by the newest checkpoint in the database. */
  readonly size: number;
  /** Root hash of these leaves, base64. */
  readonly root: string;
  /** SubjectPublicKeyInfo of the checkpoint signing key, DER in base64. */
  readonly publicKey: string;
}

/** How a backup includes the token. `softhsm`: the backup contains the SoftHSM token directory. `elsewhere`: the HSM is backed up by other means. */
export type TokenCopyWay = 'softhsm' | 'elsewhere';

/** How a backup includes the database. `logical`: pg_dump, restored with `restore run`. `base`: pg_basebackup, restored with PostgreSQL's own tools. */
export type DatabaseCopyWay = 'logical' | 'base';

/** BackupManifest describes a backup. The manifest is written last; a directory without a manifest is not a backup. */
export interface BackupManifest {
  readonly format: number;
  readonly name: string;
  /** Time of the database snapshot, ISO 8601. */
  readonly madeAt: string;
  /** Sealwright version that made the backup. */
  readonly version: string;
  readonly schema: { readonly migrations: readonly string[]; readonly minReader: number; readonly minWriter: number };
  readonly database: {
    readonly way: DatabaseCopyWay;
    /** Server version, such as `17.2`. */
    readonly server: string;
    /** Version of the program that made the copy. */
    readonly program: string;
  };
  /** Undefined if no checkpoint has been signed yet. */
  readonly log?: BackedUpLog | undefined;
  readonly token: { readonly way: TokenCopyWay; readonly label: string; readonly module: string };
  readonly files: readonly BackupFile[];
}

/**
 * readManifest reads and validates the manifest of a backup. Throws AdminError if the manifest is missing, or if the manifest was written by a later version.
 */
export async function readManifest(directory: string): Promise<BackupManifest> {
  const file = join(directory, MANIFEST_FILE);
  const { size = 0 } = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES') throw new AdminError(unreadable(directory));
    return { size: undefined };
  });
  if (size === 0 || size > MAX_MANIFEST_BYTES) {
    throw new AdminError(
      `${directory} is not a backup: ${MANIFEST_FILE} is missing. An interrupted backup has no manifest.`,
    );
  }
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EACCES' ? new AdminError(unreadable(directory)) : error;
  });
  const manifest = parsed(text);
  if (manifest === undefined) throw new AdminError(`${file} is damaged and cannot be parsed.`);
  if (manifest.format > MANIFEST_FORMAT) {
    throw new AdminError(
      `The backup was made by version ${manifest.version} in a format that this version does not support. Use that version.`,
    );
  }
  return manifest;
}

/** Returns the error with the remedy. Files copied by root belong to root, but commands run as the service account. */
function unreadable(directory: string): string {
  return `This account cannot read ${directory}. Run: chown -R sealwright: ${directory}`;
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

/** Rejects paths that lead outside the backup directory. */
function isFile({ path, bytes, sha256 }: Partial<BackupFile>): boolean {
  const parts = typeof path === 'string' ? path.split('/') : [''];
  return (
    parts.every((part) => part !== '' && part !== '.' && part !== '..') &&
    Number.isSafeInteger(bytes) &&
    /^[0-9a-f]{64}$/.test(String(sha256))
  );
}

/**
 * filesOf returns every file below a directory except the manifest, sorted by path. Throws if the directory contains links or devices, because their
 * targets could differ after a restore.
 */
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

/** pathsBelow returns the paths of all entries except directories, separated by `/` and sorted by code unit. */
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
