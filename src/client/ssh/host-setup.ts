import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ClientError, EXIT } from '../api/exit-codes.js';

/** What a host is to trust, and where its sshd reads it. */
export interface HostSetup {
  /** sshd_config; the files are written beside it. */
  readonly config: string;
  readonly sshd: string;
  /** The keys of TrustedUserCAKeys, one a line. */
  readonly authorities: Buffer;
  /** The key revocation list of RevokedKeys. */
  readonly revocations: Buffer;
  /** Principals that may log in, by account. Empty: the principals files of an earlier setup stay as they are. */
  readonly principals: ReadonlyMap<string, readonly string[]>;
}

/** A file of the setup. `before` is undefined for a new file, `after` for one that is removed. */
export interface PlannedFile {
  readonly path: string;
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
}

const HEADER = '# Written by "sealwright ssh setup-host". Changes are overwritten.\n';
const INCLUDES_DROP_INS = /^\s*include\s+\S*sshd_config\.d\/\*\.conf/im;
const PUBLIC_MODE = 0o644;

/** Paths of the setup beside an sshd_config. */
function pathsOf(config: string) {
  const directory = dirname(config);
  return {
    authorities: join(directory, 'sealwright_user_ca.pub'),
    revocations: join(directory, 'sealwright_revoked_keys'),
    principals: join(directory, 'sealwright_principals'),
    dropIn: join(directory, 'sshd_config.d', '00-sealwright.conf'),
    included: join(directory, 'sealwright_sshd.conf'),
  };
}

/**
 * Plans the files that differ from what the host has; empty when everything is set up. Files that sshd reads come before the configuration that names them.
 *
 * @throws ClientError when the configuration sets one of our directives by itself: replacing it could lock people out.
 */
export async function planHostSetup(setup: HostSetup): Promise<PlannedFile[]> {
  const { config, authorities, revocations } = setup;
  const paths = pathsOf(config);
  const main = await present(config);
  if (main === undefined) throw new ClientError(EXIT.failed, `${config} does not exist. Name the file with --config.`);
  const hasDropIns = INCLUDES_DROP_INS.test(main.toString('latin1'));
  const settingsFile = hasDropIns ? paths.dropIn : paths.included;
  const wanted = await directivesOf(setup);
  await assertOurs(setup, wanted);
  const settings = HEADER + [...wanted].map(([name, value]) => `${name} ${value}\n`).join('');
  const include = Buffer.from(`Include ${paths.included}\n`);
  const planned: [string, Buffer | undefined][] = [
    [paths.authorities, authorities],
    [paths.revocations, revocations],
    ...(await principalsFiles(setup)),
    [settingsFile, Buffer.from(settings)],
    ...(hasDropIns || main.includes(include) ? [] : [[config, Buffer.concat([include, main])] as [string, Buffer]]),
  ];
  const files = await Promise.all(planned.map(async ([path, after]) => ({ path, before: await present(path), after })));
  return files.filter(({ before, after }) => !same(before, after));
}

/**
 * Writes the planned files, and has sshd check its configuration and report that the directives are in effect. When anything fails, every file is
 * restored.
 *
 * @param reload makes sshd read its configuration; its failure restores the files as well
 */
export async function applyHostSetup(
  setup: HostSetup,
  files: readonly PlannedFile[],
  reload: () => Promise<void>,
): Promise<void> {
  const done: PlannedFile[] = [];
  try {
    for (const file of files) {
      done.push(file);
      await put(file.path, file.after);
    }
    await run(setup.sshd, ['-t', '-f', setup.config]);
    await assertInEffect(setup);
    await reload();
  } catch (error) {
    for (const { path, before } of done.toReversed()) await put(path, before);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ClientError(EXIT.failed, `Nothing was changed: every file was restored. ${reason}`);
  }
}

/** Has sshd read its configuration again: by systemd where it runs the service, else by a signal to the process of the PID file. */
export async function reloadSshd({ sshd, config }: HostSetup): Promise<void> {
  const pidFile = (await effective(sshd, config)).get('pidfile');
  const pid = pidFile === undefined ? undefined : (await present(pidFile))?.toString().trim();
  if (pid !== undefined && /^[1-9]\d*$/.test(pid)) {
    process.kill(Number(pid), 'SIGHUP');
    return;
  }
  for (const unit of ['ssh.service', 'sshd.service']) {
    const isReloaded = await run('systemctl', ['reload', unit]).then(
      () => true,
      () => false,
    );
    if (isReloaded) return;
  }
  throw new Error('sshd could not be reloaded: no PID file and no unit ssh.service or sshd.service. Use --no-reload.');
}

/** The directives with their values, as sshd_config has them. */
async function directivesOf({ config, principals }: HostSetup): Promise<Map<string, string>> {
  const paths = pathsOf(config);
  const hasPrincipals = principals.size > 0 || (await namesIn(paths.principals)).length > 0;
  return new Map([
    ['TrustedUserCAKeys', paths.authorities],
    ['RevokedKeys', paths.revocations],
    ...(hasPrincipals ? [['AuthorizedPrincipalsFile', `${paths.principals}/%u`] as const] : []),
  ]);
}

async function principalsFiles({ config, principals }: HostSetup): Promise<[string, Buffer | undefined][]> {
  if (principals.size === 0) return [];
  const directory = pathsOf(config).principals;
  const stale = (await namesIn(directory)).filter((account) => !principals.has(account));
  return [
    ...[...principals].map(([account, names]): [string, Buffer] => [
      join(directory, account),
      Buffer.from(names.map((name) => `${name}\n`).join('')),
    ]),
    ...stale.map((account): [string, undefined] => [join(directory, account), undefined]),
  ];
}

async function assertOurs({ sshd, config }: HostSetup, wanted: ReadonlyMap<string, string>): Promise<void> {
  const settings = await effective(sshd, config);
  for (const [name, value] of wanted) {
    const current = settings.get(name.toLowerCase()) ?? 'none';
    if (current === 'none' || current === value) continue;
    throw new ClientError(
      EXIT.failed,
      `The configuration of sshd sets ${name} to ${current}, which this setup would replace by ${value}. Move what that file holds into the service or remove the directive, then run this again.`,
    );
  }
}

async function assertInEffect(setup: HostSetup): Promise<void> {
  const settings = await effective(setup.sshd, setup.config);
  for (const [name, value] of await directivesOf(setup)) {
    const current = settings.get(name.toLowerCase());
    if (current !== value) throw new Error(`sshd reports ${name} ${current ?? 'none'} instead of ${value}.`);
  }
}

/** The settings that sshd reports for a login as root from this machine, by their names in lower case. */
async function effective(sshd: string, config: string): Promise<Map<string, string>> {
  const printed = await run(sshd, ['-T', '-f', config, '-C', 'user=root,host=localhost,addr=127.0.0.1']);
  const lines = printed.split('\n').filter((line) => line.includes(' '));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]));
}

/** Replaces a file by one rename, readable by everybody and changed by its owner alone; removes it without content. */
async function put(path: string, content: Buffer | undefined): Promise<void> {
  if (content === undefined) return rm(path, { force: true });
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const fresh = `${path}.${process.pid}.new`;
  await writeFile(fresh, content, { mode: PUBLIC_MODE });
  await chmod(fresh, PUBLIC_MODE);
  await rename(fresh, path);
}

async function present(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ClientError(EXIT.failed, `${path} cannot be read: ${(error as Error).message}`);
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

function same(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((done, fail) => {
    execFile(program, [...args], { env: { ...process.env, LC_ALL: 'C' } }, (error, out, said) => {
      if (error === null) done(out);
      else fail(new Error(`${program} ${args[0] ?? ''}: ${said.trim() || error.message}`));
    });
  });
}
