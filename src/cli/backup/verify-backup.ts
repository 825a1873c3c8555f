import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { openNote } from '../../verifier/signed-note.js';
import { AdminError } from '../command.js';
import {
  CHECKPOINT_FILE,
  DUMP_FILE,
  type BackupManifest,
  MANIFEST_FILE,
  pathsBelow,
  readManifest,
  sha256Of,
} from './manifest.js';
import { ended, type PostgresPrograms, startProgram } from './postgres-programs.js';
import { readWitness } from './witness-file.js';

interface VerifyOptions {
  readonly signal?: AbortSignal;
  /** If set, the whole dump is read, as in a restore; otherwise only hashes are compared. */
  readonly programs?: PostgresPrograms | undefined;
}

/** assertSound rejects with all faults of a backup. */
export async function assertSound(directory: string, options: VerifyOptions): Promise<BackupManifest> {
  const manifest = await readManifest(directory);
  const faults = await faultsOf(directory, manifest, options);
  if (faults.length === 0) return manifest;
  throw new AdminError(`${directory} is damaged:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
}

/** faultsOf returns all faults of a backup; empty if the backup is unchanged and complete. */
export async function faultsOf(directory: string, manifest: BackupManifest, options: VerifyOptions): Promise<string[]> {
  const faults = [...(await filesThatDiffer(directory, manifest)), ...(await logFaults(directory, manifest))];
  // Reading a dump whose hash does not match is pointless.
  if (faults.length === 0 && options.programs !== undefined)
    faults.push(...(await dumpFaults(directory, manifest, options)));
  return faults;
}

async function filesThatDiffer(directory: string, { files }: BackupManifest): Promise<string[]> {
  const faults: string[] = [];
  for (const { path, bytes, sha256 } of files) {
    const file = join(directory, path);
    // Uses lstat, because the target of a symbolic link could change after the comparison.
    const found = await lstat(file).catch(() => undefined);
    if (found === undefined) faults.push(`${path} is missing`);
    else if (!found.isFile()) faults.push(`${path} is not a file`);
    else if (found.size !== bytes) faults.push(`${path} has ${found.size} bytes instead of ${bytes}`);
    else if ((await sha256Of(file)) !== sha256) faults.push(`${path} was changed: its SHA-256 differs`);
  }
  const known = new Set([MANIFEST_FILE, ...files.map(({ path }) => path)]);
  const more = (await pathsBelow(directory)).filter((path) => !known.has(path));
  return [...faults, ...more.map((path) => `${path} is not part of the backup`)];
}

/** Verifies that the checkpoint in the backup matches the manifest and is signed with the log key. */
async function logFaults(directory: string, { log }: BackupManifest): Promise<string[]> {
  if (log === undefined) return [];
  const note = await readFile(join(directory, CHECKPOINT_FILE), 'utf8').catch(() => '');
  const key = fromBase64(log.publicKey);
  const opened = key === undefined ? undefined : openNote(note, key);
  const isIt = opened?.origin === log.origin && opened.size === log.size && opened.root.toString('base64') === log.root;
  return isIt ? [] : [`${CHECKPOINT_FILE} is not the signed checkpoint named in the manifest`];
}

/** Reads the whole dump, as a restore does. */
async function dumpFaults(
  directory: string,
  { database }: BackupManifest,
  { programs, signal }: VerifyOptions,
): Promise<string[]> {
  if (database.way !== 'logical' || programs === undefined) return [];
  const args = ['--file=/dev/null', join(directory, DUMP_FILE)];
  const child = startProgram(programs, 'pg_restore', args, undefined, signal);
  child.stdin?.end();
  child.stdout?.resume();
  return ended(child, 'pg_restore').then(
    () => [],
    (error: Error) => {
      signal?.throwIfAborted();
      return [`${DUMP_FILE} cannot be read: ${error.message}`];
    },
  );
}

/** witnessFault returns why the witness does not confirm this backup; undefined if the witness recorded the manifest's hash. */
export async function witnessFault(
  directory: string,
  { name }: BackupManifest,
  witness: string,
): Promise<string | undefined> {
  const said = (await readWitness(witness)).filter(({ backup }) => backup === name);
  if (said.length === 0) return `${witness} has no record of backup ${name}`;
  const hash = await sha256Of(join(directory, MANIFEST_FILE));
  if (said.some(({ manifestSha256 }) => manifestSha256 === hash)) return undefined;
  return `${witness} recorded ${name} with a different manifest: the backup was replaced`;
}
