import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { certificateFile } from './host-certificates.js';

/** HostSetup describes the authorities that a host must trust, and the configuration of its sshd. */
export interface HostSetup {
  /** Path of sshd_config. The other files are written to the same directory. */
  readonly config: string;
  readonly sshd: string;
  /** Content for TrustedUserCAKeys, one key per line. */
  readonly authorities: Buffer;
  /** Key revocation list for RevokedKeys. */
  readonly revocations: Buffer;
  /** Principals that may log in, by account. If empty, the principals files of an earlier setup remain unchanged. */
  readonly principals: ReadonlyMap<string, readonly string[]>;
  /** New certificate of a host key, with its path. If undefined, existing certificates of host keys are kept and presented to clients. */
  readonly hostCertificate: { readonly path: string; readonly content: Buffer } | undefined;
}

type Directive = readonly [name: string, value: string];

/** PlannedFile is a file of the setup. `before` is undefined for a new file, and `after` for a file to be removed. */
export interface PlannedFile {
  readonly path: string;
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
}

const HEADER = '# Written by "sealwright ssh setup-host". Changes are overwritten.\n';
const DROP_INS = 'sshd_config.d/*.conf';
const PUBLIC_MODE = 0o644;

/** Returns the paths of the setup files, given the path of sshd_config. */
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
 * planHostSetup returns the files that differ from the files on the host. Returns an empty array if the host is already set up. Files that sshd reads precede
 * the configuration that refers to them.
 *
 * @throws ClientError if the configuration already sets one of the directives, because replacing the value could lock users out
 */
export async function planHostSetup(setup: HostSetup): Promise<PlannedFile[]> {
  const { config, authorities, revocations } = setup;
  const paths = pathsOf(config);
  const main = await present(config);
  if (main === undefined)
    throw new ClientError(EXIT.failed, `${config} does not exist. Specify the file with --config.`);
  const hasDropIns = includesDropIns(main.toString('latin1'));
  const settingsFile = hasDropIns ? paths.dropIn : paths.included;
  const wanted = await directivesOf(setup);
  await assertOurs(setup, wanted);
  const settings = HEADER + wanted.map(([name, value]) => `${name} ${value}\n`).join('');
  const include = Buffer.from(`Include ${paths.included}\n`);
  const planned: [string, Buffer | undefined][] = [
    [paths.authorities, authorities],
    [paths.revocations, revocations],
    ...(setup.hostCertificate === undefined
      ? []
      : [[setup.hostCertificate.path, setup.hostCertificate.content] as [string, Buffer]]),
    ...(await principalsFiles(setup)),
    [settingsFile, Buffer.from(settings)],
    ...(hasDropIns || main.includes(include) ? [] : [[config, Buffer.concat([include, main])] as [string, Buffer]]),
  ];
  const files = await Promise.all(planned.map(async ([path, after]) => ({ path, before: await present(path), after })));
  return files.filter(({ before, after }) => !same(before, after));
}

/**
 * applyHostSetup writes the planned files, then verifies with sshd that the configuration is valid and that the directives are in effect. If anything fails,
 * restores all files.
 *
 * @param reload makes sshd reload its configuration; if the reload fails, the files are also restored
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
    throw new ClientError(EXIT.failed, `Nothing was changed; all files were restored. ${reason}`);
  }
}

/** Reports whether an earlier setup configured the trusted authorities on this host. */
export async function isSetUp(config: string): Promise<boolean> {
  return (await present(pathsOf(config).authorities)) !== undefined;
}

/** Makes sshd reload its configuration, with a signal to the process in the PID file, or through systemd if there is no PID file. */
export async function reloadSshd({ sshd, config }: HostSetup): Promise<void> {
  const [pidFile] = (await effective(sshd, config)).get('pidfile') ?? [];
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
  throw new Error(
    'Could not reload sshd: no PID file and no ssh.service or sshd.service unit was found. Use --no-reload.',
  );
}

function includesDropIns(config: string): boolean {
  return config.split('\n').some((line) => {
    const [keyword = '', ...files] = line.trim().split(/[ \t]+/);
    return keyword.toLowerCase() === 'include' && files.some((file) => file.endsWith(DROP_INS));
  });
}

/** Returns the directives and values to write to the configuration. */
async function directivesOf({ config, sshd, principals, hostCertificate }: HostSetup): Promise<Directive[]> {
  const paths = pathsOf(config);
  const hasPrincipals = principals.size > 0 || (await namesIn(paths.principals)).length > 0;
  const certificates = new Set(hostCertificate === undefined ? [] : [hostCertificate.path]);
  for (const key of await hostKeysOf(sshd, config)) {
    const file = certificateFile(key);
    if ((await present(file)) !== undefined && (await isOurs(config, file))) certificates.add(file);
  }
  return [
    ['TrustedUserCAKeys', paths.authorities],
    ['RevokedKeys', paths.revocations],
    ...(hasPrincipals ? [['AuthorizedPrincipalsFile', `${paths.principals}/%u`] as const] : []),
    ...[...certificates].map((path) => ['HostCertificate', path] as const),
  ];
}

/** Reports whether an earlier setup configured the given host certificate. */
async function isOurs(config: string, certificate: string): Promise<boolean> {
  const { dropIn, included } = pathsOf(config);
  const settings = await Promise.all([dropIn, included].map(present));
  return settings.some((file) => file?.toString('latin1').split('\n').includes(`HostCertificate ${certificate}`));
}

/** Returns the private host keys that sshd uses, starting with Ed25519. */
export async function hostKeysOf(sshd: string, config: string): Promise<string[]> {
  const keys = (await effective(sshd, config)).get('hostkey') ?? [];
  return keys.toSorted((a, b) => Number(b.includes('ed25519')) - Number(a.includes('ed25519')));
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

async function assertOurs({ sshd, config }: HostSetup, wanted: readonly Directive[]): Promise<void> {
  const settings = await effective(sshd, config);
  for (const [name, value] of wanted) {
    const [current = 'none'] = settings.get(name.toLowerCase()) ?? [];
    // Several HostCertificate directives do not conflict, because sshd presents every configured certificate of its host keys.
    if (name === 'HostCertificate' || current === 'none' || current === value) continue;
    throw new ClientError(
      EXIT.failed,
      `The sshd configuration sets ${name} to ${current}, which would be replaced with ${value}. Move the content of that file into the service or remove the directive, then run the command again.`,
    );
  }
}

async function assertInEffect(setup: HostSetup): Promise<void> {
  const settings = await effective(setup.sshd, setup.config);
  for (const [name, value] of await directivesOf(setup)) {
    const current = settings.get(name.toLowerCase()) ?? ['none'];
    if (!current.includes(value)) throw new Error(`sshd reports ${name} ${current.join(', ')} instead of ${value}.`);
  }
}

/** Returns sshd's effective settings for a login as root from this machine, by lowercase directive name. */
async function effective(sshd: string, config: string): Promise<Map<string, string[]>> {
  const printed = await run(sshd, ['-T', '-f', config, '-C', 'user=root,host=localhost,addr=127.0.0.1']);
  const settings = new Map<string, string[]>();
  for (const line of printed.split('\n').filter((one) => one.includes(' '))) {
    const name = line.slice(0, line.indexOf(' '));
    settings.set(name, [...(settings.get(name) ?? []), line.slice(name.length + 1)]);
  }
  return settings;
}

/** Replaces a file atomically. The new file is readable by everyone and writable by its owner. Deletes the file if `content` is undefined. */
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
    throw new ClientError(EXIT.failed, `Cannot read ${path}: ${(error as Error).message}`);
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
    execFile(program, [...args], (error, out, said) => {
      if (error === null) done(out);
      else fail(new Error(`${program} ${args[0] ?? ''}: ${said.trim() || error.message}`));
    });
  });
}
