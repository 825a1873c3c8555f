import { mkdir, readFile, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientError, EXIT } from './exit-codes.js';
import { readJson } from '../../platform/json/strict-json.js';
import { OutputFile, writing } from './output-file.js';

/** StoredCredentials contains the URL of the service and the token, as stored by `login`. */
export interface StoredCredentials {
  readonly url: string;
  /** API key or access token. */
  readonly token: string;
  /** Token that renews `token`. Present only after the device flow. */
  readonly refreshToken?: string;
  readonly clientId?: string;
}

const OTHERS = 0o077;
/** Maximum age of a lock in milliseconds. Every renewal takes less time, so an older lock belongs to a process that died. */
const MAX_LOCK_MS = 15_000;
const LOOK_EVERY_MS = 50;

/** Returns the stored credentials, or undefined if no credentials are stored. Throws if other users can read the file. */
export async function readStoredCredentials(file: string): Promise<StoredCredentials | undefined> {
  const status = await stat(file).catch(() => undefined);
  if (status === undefined) return undefined;
  if ((status.mode & OTHERS) !== 0)
    throw new ClientError(
      EXIT.authentication,
      `Other users can read ${file}. Run chmod 600, and replace the credential in it.`,
    );
  try {
    return readJson(await readFile(file)) as StoredCredentials;
  } catch {
    throw new ClientError(EXIT.authentication, `Cannot read ${file}. Log in again.`);
  }
}

export async function writeCredentials(file: string, credentials: StoredCredentials): Promise<void> {
  await writing(file, () => mkdir(dirname(file), { recursive: true, mode: 0o700 }));
  const output = await OutputFile.reserve(file);
  await output.write(`${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
}

/** Runs `work` while holding a lock on the file. */
export async function alone<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const lock = `${file}.lock`;
  const until = performance.now() + MAX_LOCK_MS;
  while (!(await taken(lock)) && performance.now() < until) await sleep(LOOK_EVERY_MS);
  try {
    return await work();
  } finally {
    await rmdir(lock).catch(() => undefined);
  }
}

/** Reports whether the lock was acquired. Creating a directory is atomic, so only one process succeeds. */
async function taken(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
