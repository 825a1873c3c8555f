import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner can read: whole or not at all, never readable by others for a moment. */
export function writePrivate(file, text) {
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
}

/** The secret in `file`; made of 24 random bytes, in letters and digits only, when the file is not there. */
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

/** Makes a directory of this account that others cannot list or read; a group that may pass through it already keeps that. */
export function ownDirectory(directory) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { mode } = statSync(directory);
  if ((mode & 0o067) !== 0) chmodSync(directory, mode & 0o710);
  return directory;
}

/** Makes a directory that only its owner can enter, and puts that right when it exists with other rights. */
export function privateDirectory(directory, account) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (account !== undefined) chownSync(directory, account.uid, account.gid);
  if ((statSync(directory).mode & 0o777) !== 0o700) chmodSync(directory, 0o700);
  return directory;
}
