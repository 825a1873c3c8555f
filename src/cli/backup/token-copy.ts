import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AdminError } from '../command.js';
import { pathsBelow } from './manifest.js';

export const TOKEN_DIRECTORY = 'token';
const PAUSE_MS = 50;
/**
 * Maximum number of attempts to copy the token without a concurrent change. SoftHSM writes an object within milliseconds, and a service that signs checkpoints
 * writes one object per second.
 */
const MAX_TRIES = 200;

/** isSoftHsm returns true if the PKCS#11 module is SoftHSM, which stores tokens in files. */
export function isSoftHsm(module: string): boolean {
  return /softhsm/i.test(module);
}

/** tokenDirectory reads the token directory from SoftHSM's configuration (softhsm2.conf(5), directories.tokendir). */
export async function tokenDirectory(configuration: string): Promise<string> {
  const text = await readFile(configuration, 'utf8').catch((cause: Error) => {
    throw new AdminError(`Cannot read the SoftHSM configuration (SOFTHSM2_CONF): ${cause.message}`);
  });
  const line = text.split('\n').find((one) => one.trimStart().startsWith('directories.tokendir'));
  const directory = line?.split('=').slice(1).join('=').trim() ?? '';
  if (isAbsolute(directory)) return directory.replace(/\/$/, '');
  throw new AdminError(`${configuration} does not set directories.tokendir to an absolute path`);
}

/**
 * copyToken copies the SoftHSM tokens consistently: if a file changes during the copy, all files are copied again. The service may keep running. The copy
 * contains private keys, encrypted under the PIN.
 */
export async function copyToken(from: string, to: string): Promise<void> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const before = await stateOf(from);
    if (before.size === 0)
      throw new AdminError(`${from} contains no token. Set SOFTHSM2_CONF to the configuration that the service uses.`);
    await cp(from, to, { recursive: true, preserveTimestamps: true }).catch(ignoreVanished);
    if (isSame(before, await stateOf(from)) && isComplete(before, await stateOf(to))) return closeToOthers(to);
    await rm(to, { recursive: true, force: true });
    await sleep(PAUSE_MS);
  }
  throw new AdminError(`${from} kept changing while it was being copied. Stop creating keys and repeat the backup.`);
}

/**
 * putToken copies the tokens of a backup to SoftHSM's token directory. If the directory already contains tokens, nothing is copied, because the existing
 * tokens are newer than the backup.
 * @returns whether the copy was installed; the directory appears completely or not at all
 */
export async function putToken(from: string, to: string): Promise<boolean> {
  if ((await stateOf(to)).size > 0) return false;
  const draft = `${to}.restoring`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await cp(from, draft, { recursive: true, preserveTimestamps: true });
  await rm(to, { recursive: true, force: true });
  await rename(draft, to);
  return true;
}

/** overlap returns true if the directories are the same or one contains the other. */
export function overlap(one: string, other: string): boolean {
  const leads = (from: string, to: string) => {
    const way = relative(from, to);
    return way === '' || (!way.startsWith('..') && !isAbsolute(way));
  };
  return leads(one, other) || leads(other, one);
}

/** Restricts access to the owner, regardless of the modes of the source files. */
async function closeToOthers(directory: string): Promise<void> {
  await chmod(directory, 0o700);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
}

/** Returns size, times and inode of each file. Lock files are skipped, because lock files are empty and their times change when the token is read. */
async function stateOf(directory: string): Promise<Map<string, string>> {
  const paths = await pathsBelow(directory).catch(() => []);
  const state = new Map<string, string>();
  for (const path of paths) {
    const found = await stat(join(directory, path), { bigint: true }).catch(() => undefined);
    if (path.endsWith('.lock')) continue;
    state.set(path, found === undefined ? 'gone' : `${found.size} ${found.mtimeNs} ${found.ctimeNs} ${found.ino}`);
  }
  return state;
}

function isSame(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): boolean {
  return before.size === after.size && [...before].every(([path, state]) => after.get(path) === state);
}

function isComplete(wanted: ReadonlyMap<string, string>, copied: ReadonlyMap<string, string>): boolean {
  const sizeOf = (state: string | undefined) => state?.split(' ', 1)[0];
  return [...wanted].every(([path, state]) => sizeOf(copied.get(path)) === sizeOf(state));
}

/** Ignores objects deleted during the copy; the state is compared again afterwards. */
function ignoreVanished(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
