import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** writePrivate atomically writes a file that only its owner can ever read. */
export function writePrivate(file, text) {
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
}

/** secretIn returns the secret in `file`. If the file does not exist, it is created with the result of `make`, by default 24 random bytes in hex. */
export function secretIn(file, make = () => randomBytes(24).toString('hex')) {
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret !== '') return secret;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const secret = make();
  writePrivate(file, `${secret}\n`);
  return secret;
}

/**
 * ownDirectory creates a directory of this account that other accounts cannot list or read. If the group is already permitted to traverse the directory, that
 * permission is kept.
 */
export function ownDirectory(directory) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { mode } = statSync(directory);
  if ((mode & 0o067) !== 0) chmodSync(directory, mode & 0o710);
  return directory;
}

/** privateDirectory creates a directory that only its owner can enter, or corrects the permissions of an existing directory. */
export function privateDirectory(directory, account) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (account !== undefined) chownSync(directory, account.uid, account.gid);
  if ((statSync(directory).mode & 0o777) !== 0o700) chmodSync(directory, 0o700);
  return directory;
}
