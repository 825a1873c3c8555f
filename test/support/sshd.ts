import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/lib/ports.mjs';

const SSHD = '/usr/sbin/sshd';
const FIRST_UID = 21_000;

export type HostKeyKind = 'ed25519' | 'rsa' | 'ecdsa';

export interface SshdOptions {
  /** Loopback address that it listens on; each is another "machine". Default: the next free one of 127.20.0.0/16. */
  readonly address?: string;
  /** Login names besides root. Each has a home directory of its own. */
  readonly users?: readonly string[];
  readonly hostKeys?: readonly HostKeyKind[];
  /** First lines of sshd_config: sshd uses the first value that it reads. */
  readonly config?: readonly string[];
  /** Last lines of sshd_config, for Match blocks. */
  readonly matches?: readonly string[];
  /** Version that it announces, for example `8.9`. */
  readonly version?: string;
  /** Time zone of the machine. */
  readonly timeZone?: string;
}

/** A real sshd with its own users, homes and keys, in a mount namespace of its own. Nothing of this machine is changed. */
export interface Sshd {
  readonly address: string;
  readonly port: number;
  readonly directory: string;
  readonly users: readonly string[];
  /** Path on this machine of the home directory of a user. */
  home(user: string): string;
  /** The log of sshd, LogLevel VERBOSE. */
  log(): string;
  /** Appends a line to the user's authorized_keys. */
  authorize(user: string, line: string): void;
  /** Content of the user's authorized_keys. */
  authorizedKeys(user: string): string;
  /** Public key line of one of its own keys. */
  hostKey(kind: HostKeyKind): string;
  /** Makes a new host key of this kind and restarts at the same address. */
  swapHostKey(kind: HostKeyKind): Promise<void>;
  /** Runs a command in the namespace of sshd, as root. */
  inside(...command: string[]): string;
  /** The same with something on standard input. */
  feed(input: string, ...command: string[]): string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes everything. */
  close(): Promise<void>;
}

/** Whether this machine can run such an sshd: openssh-server is installed, and mount namespaces are allowed. */
export function canRunSshd(): boolean {
  return existsSync(SSHD) && process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;
}

/** A key pair made by ssh-keygen. */
export interface ClientKey {
  readonly privateKey: string;
  /** `ssh-ed25519 AAAA… comment` */
  readonly publicKey: string;
  readonly fingerprint: string;
  /** Path of the private key file. */
  readonly file: string;
}

export function newClientKey(
  directory: string,
  name: string,
  kind: string[] = ['-t', 'ed25519'],
  passphrase = '',
): ClientKey {
  const file = join(directory, name);
  execFileSync('ssh-keygen', ['-q', ...kind, '-N', passphrase, '-C', name, '-f', file]);
  const publicKey = readFileSync(`${file}.pub`, 'utf8').trim();
  return { privateKey: readFileSync(file, 'utf8'), publicKey, fingerprint: fingerprintOfLine(publicKey), file };
}

/** Fingerprint of a public key by ssh-keygen. */
export function fingerprintOfLine(line: string): string {
  const told = execFileSync('ssh-keygen', ['-lf', '-'], { input: `${line}\n`, encoding: 'utf8' });
  return told.split(' ')[1] ?? '';
}

let taken = 0;

function nextAddress(): string {
  taken += 1;
  return `127.20.${(process.pid % 200) + 1}.${taken}`;
}

export async function startSshd(options: SshdOptions = {}): Promise<Sshd> {
  const { users = ['deploy'], hostKeys = ['ed25519'] } = options;
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-sshd-'));
  chmodSync(directory, 0o755);
  const address = options.address ?? nextAddress();
  const port = await freePort(address);
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  makeAccounts(directory, users);
  for (const kind of hostKeys) newHostKey(directory, kind);
  writeFileSync(join(directory, 'sshd_config'), configOf(directory, { ...options, address, port, hostKeys }));
  if (options.version !== undefined) copyProgram(directory, options.version);
  const run = () => runSshd({ directory, address, port, timeZone: options.timeZone ?? 'UTC' });
  let running = await run();
  const home = (user: string) => (user === 'root' ? join(directory, 'root') : join(directory, 'home', user));
  const stop = async () => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  };
  const start = async () => {
    running = await run();
  };
  return {
    address,
    port,
    directory,
    users,
    home,
    log: () => readFileSync(join(directory, 'log'), 'utf8'),
    authorize: (user, line) => authorize(home(user), uidOf(users, user), line),
    authorizedKeys: (user) => readFileSync(join(home(user), '.ssh/authorized_keys'), 'utf8'),
    hostKey: (kind) => readFileSync(join(directory, `host_${kind}.pub`), 'utf8').trim(),
    swapHostKey: async (kind) => {
      await stop();
      newHostKey(directory, kind);
      await start();
    },
    inside: (...command) => within(running, '', command),
    feed: (input, ...command) => within(running, input, command),
    stop,
    start,
    close: async () => {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function within({ pid }: ChildProcess, input: string, command: string[]): string {
  const most = 64 * 1024 * 1024;
  return execFileSync('nsenter', ['-m', '-t', String(pid), '--', ...command], {
    encoding: 'utf8',
    input,
    maxBuffer: most,
  });
}

function uidOf(users: readonly string[], user: string): number {
  return user === 'root' ? 0 : FIRST_UID + users.indexOf(user);
}

function authorize(home: string, uid: number, line: string): void {
  const directory = join(home, '.ssh');
  if (!existsSync(directory)) {
    mkdirSync(directory, { mode: 0o700 });
    chownSync(directory, uid, uid);
  }
  const file = join(directory, 'authorized_keys');
  const isNew = !existsSync(file);
  appendFileSync(file, `${line}\n`);
  if (!isNew) return;
  chmodSync(file, 0o600);
  chownSync(file, uid, uid);
}

/** passwd, shadow and group of this machine with the users added, and their homes; mounted over the real ones for sshd alone. */
function makeAccounts(directory: string, users: readonly string[]): void {
  const etc = join(directory, 'etc');
  mkdirSync(etc);
  mkdirSync(join(directory, 'home'), { mode: 0o755 });
  mkdirSync(join(directory, 'root'), { mode: 0o700 });
  const added = { passwd: '', shadow: '', group: '' };
  for (const user of users) {
    const uid = uidOf(users, user);
    added.passwd += `${user}:x:${uid}:${uid}:${user}:/home/${user}:/bin/sh\n`;
    added.shadow += `${user}:*:19000:0:99999:7:::\n`;
    added.group += `${user}:x:${uid}:\n`;
    const home = join(directory, 'home', user);
    mkdirSync(home, { mode: 0o755 });
    chownSync(home, uid, uid);
  }
  for (const [file, lines] of Object.entries(added)) {
    writeFileSync(join(etc, file), readFileSync(join('/etc', file), 'utf8') + lines, {
      mode: file === 'shadow' ? 0o600 : 0o644,
    });
  }
}

function newHostKey(directory: string, kind: HostKeyKind): void {
  const file = join(directory, `host_${kind}`);
  for (const old of [file, `${file}.pub`]) rmSync(old, { force: true });
  const size = kind === 'rsa' ? ['-b', '2048'] : [];
  execFileSync('ssh-keygen', ['-q', '-t', kind, ...size, '-N', '', '-C', '', '-f', file]);
}

function configOf(
  directory: string,
  options: SshdOptions & { address: string; port: number; hostKeys: readonly string[] },
): string {
  const { address, port, hostKeys, config = [], matches = [] } = options;
  return [
    ...config,
    `ListenAddress ${address}`,
    `Port ${port}`,
    ...hostKeys.map((kind) => `HostKey ${join(directory, `host_${kind}`)}`),
    `PidFile ${join(directory, 'pid')}`,
    'LogLevel VERBOSE',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    'StrictModes yes',
    'UseDNS no',
    'Subsystem sftp internal-sftp',
    ...matches,
    '',
  ].join('\n');
}

/** sshd with another version number of the same length in its binary: a real sshd that announces an older version. */
function copyProgram(directory: string, version: string): void {
  const program = readFileSync(SSHD, 'latin1');
  const own = /OpenSSH_\d+\.\d+/.exec(program)?.[0] ?? '';
  const other = `OpenSSH_${version}`.padEnd(own.length, '0');
  writeFileSync(join(directory, 'sshd'), program.replaceAll(own, other), { encoding: 'latin1', mode: 0o755 });
}

interface Place {
  readonly directory: string;
  readonly address: string;
  readonly port: number;
  readonly timeZone: string;
}

/** Starts sshd in a namespace with its own /etc/passwd, /home and /root, and waits until it listens. */
async function runSshd({ directory, address, port, timeZone }: Place): Promise<ChildProcess> {
  const over = [
    ...['passwd', 'shadow', 'group'].map((file) => `mount --bind ${directory}/etc/${file} /etc/${file}`),
    `mount --bind ${directory}/home /home`,
    `mount --bind ${directory}/root /root`,
    ...(existsSync(join(directory, 'sshd')) ? [`mount --bind ${directory}/sshd ${SSHD}`] : []),
    `exec ${SSHD} -D -f ${directory}/sshd_config -E ${directory}/log`,
  ];
  const listens = `Server listening on ${address} port ${port}`;
  const log = join(directory, 'log');
  // Measured before it starts: on a busy machine it may have written its line before this process goes on.
  const before = existsSync(log) ? readFileSync(log, 'utf8').length : 0;
  const child = spawn('unshare', ['-m', '--propagation', 'private', 'sh', '-ec', over.join('\n')], {
    env: { ...process.env, TZ: timeZone },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (let tries = 0; tries < 3000 && child.exitCode === null; tries += 1) {
    if (existsSync(log) && readFileSync(log, 'utf8').slice(before).includes(listens)) return child;
    await sleep(10);
  }
  child.kill('SIGKILL');
  throw new Error(`sshd did not start: ${existsSync(log) ? readFileSync(log, 'utf8') : 'no log'}`);
}
