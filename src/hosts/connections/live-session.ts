import type ssh2 from 'ssh2';
import { randomBytes } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';
import { sshFingerprintOf } from '../../formats/ssh/public-key.js';
import type { Privilege } from '../model/host.entity.js';
import type { ExecOptions, ExecResult, RunOptions, SshSession } from '../model/ssh-session.port.js';
import { lost, timedOut } from './ssh-fault.js';
import type { LoggedIn } from './ssh-handshake.js';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;
/** Maximum number of bytes that a login shell may print before a script begins. */
const MAX_NOISE_BYTES = 64 * 1024;

interface Account {
  readonly hostId: string;
  readonly user: string;
  readonly privilege: Privilege;
}

/** LiveSession is a session on one connection. Closing the session also closes the connections to the jump hosts. */
export class LiveSession implements SshSession {
  readonly hostId: string;
  readonly user: string;
  readonly hostKeyFingerprint: string;
  readonly software: string;
  private readonly client: ssh2.Client;
  private open = true;
  private readonly broken: Promise<never>;

  constructor(
    loggedIn: LoggedIn,
    private readonly account: Account,
    /** Connections to the jump hosts, nearest first. */
    private readonly way: readonly ssh2.Client[],
  ) {
    this.client = loggedIn.client;
    this.hostId = account.hostId;
    this.user = account.user;
    this.hostKeyFingerprint = sshFingerprintOf(loggedIn.hostKey);
    this.software = loggedIn.software;
    this.broken = new Promise((_, reject) => {
      // Close the session before reporting the error.
      const end = (error?: Error) => {
        this.close();
        reject(lost(error));
      };
      this.client.on('error', end);
      this.client.once('close', () => end());
    });
    this.broken.catch(() => undefined);
  }

  get isOpen(): boolean {
    return this.open;
  }

  async exec(command: string, options: ExecOptions = {}): Promise<ExecResult> {
    if (!this.open) throw lost();
    const { timeoutMs = TIMEOUT_MS } = options;
    const late = Promise.withResolvers<never>();
    let channel: ssh2.ClientChannel | undefined;
    const timer = setTimeout(() => {
      channel?.destroy();
      late.reject(timedOut('a command did not finish'));
    }, timeoutMs);
    const run = this.start(command, options, (opened) => {
      channel = opened;
    });
    run.catch(() => undefined);
    try {
      return await Promise.race([run, late.promise, this.broken]);
    } finally {
      clearTimeout(timer);
    }
  }

  async run(script: string, { args = [], as, ...options }: RunOptions = {}): Promise<ExecResult> {
    const { maxBytes = MAX_BYTES } = options;
    const parts = [randomBytes(8), randomBytes(8)].map((bytes) => bytes.toString('hex'));
    const runAs = { loginUser: this.user, privilege: this.account.privilege, as };
    const command = scriptCommand(`${printing(parts)}\n${script}`, args, runAs);
    if (command === undefined) throw new Problem('refused', 'host.privilege', `The login account cannot act as ${as}.`);
    const result = await this.exec(command, { ...options, maxBytes: maxBytes + MAX_NOISE_BYTES });
    const mark = parts.join('');
    if (runAs.privilege === 'sudo' && as !== undefined && as !== this.user) assertSudo(result, mark, as);
    return outputBehind(mark, result, maxBytes);
  }

  /** Opens a channel to another machine through this host, for a session on that machine. */
  tunnel(address: string, port: number): Promise<ssh2.ClientChannel> {
    const opened = new Promise<ssh2.ClientChannel>((resolve, reject) => {
      this.client.forwardOut('127.0.0.1', 0, address, port, (error, channel) =>
        error === undefined ? resolve(channel) : reject(error),
      );
    });
    return Promise.race([opened, this.broken]);
  }

  /** Returns the connection to this host and the connections to its jump hosts. */
  clients(): ssh2.Client[] {
    return [this.client, ...this.way];
  }

  close(): void {
    this.open = false;
    this.client.end();
    for (const client of this.way) client.end();
  }

  private start(
    command: string,
    options: ExecOptions,
    opened: (channel: ssh2.ClientChannel) => void,
  ): Promise<ExecResult> {
    return new Promise((resolve, reject) => {
      this.client.exec(command, (error, channel) => {
        if (error !== undefined) return reject(lost(error));
        opened(channel);
        // Add the listeners synchronously: the exit status and the end of the output can arrive in the reply's packet and are emitted before the next tick.
        collect(channel, options).then(resolve, reject);
      });
    });
  }
}

function collect(channel: ssh2.ClientChannel, { input, maxBytes = MAX_BYTES }: ExecOptions): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    let ended: { code: number | null; signal: string | null } | undefined;
    let truncated = false;
    const take = (source: NodeJS.ReadableStream): Buffer[] => {
      const chunks: Buffer[] = [];
      let size = 0;
      source.on('data', (chunk: Buffer) => {
        const left = maxBytes - size;
        if (left > 0) chunks.push(chunk.subarray(0, left));
        size += chunk.length;
        if (size <= maxBytes || truncated) return;
        truncated = true;
        channel.close();
      });
      return chunks;
    };
    const [stdout, stderr] = [take(channel), take(channel.stderr)];
    channel.on('exit', (code: number | null, signal?: string) => {
      ended = { code, signal: signal ?? null };
    });
    channel.on('error', reject);
    channel.on('close', () => {
      // A channel that closes without an exit status indicates a server or network failure.
      if (ended === undefined && !truncated) return reject(lost());
      const { code, signal } = ended ?? { code: null, signal: null };
      resolve({ code, signal, truncated, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) });
    });
    channel.end(input);
  });
}

/**
 * Returns a command that prints the two parts as one line. The command does not contain the line itself, so output that echoes the command is not mistaken for
 * the line.
 */
function printing(parts: readonly string[]): string {
  return `printf '%s%s\\n' ${parts.join(' ')}`;
}

/**
 * Removes the output that the login shell printed before the script (`.bashrc`, `.zshenv`). Throws Problem `host.output` if the host successfully ran another
 * command instead, such as a forced command or a restricted shell.
 */
function outputBehind(mark: string, result: ExecResult, maxBytes: number): ExecResult {
  const { code, stdout: whole, truncated } = result;
  const begin = whole.indexOf(`${mark}\n`);
  if (begin === -1 && code === 0) {
    const detail = 'The host ran a different command than requested. Check for a forced command or a restricted shell.';
    throw new Problem('refused', 'host.output', detail);
  }
  const stdout = begin === -1 ? whole : whole.subarray(begin + mark.length + 1);
  return { ...result, stdout: stdout.subarray(0, maxBytes), truncated: truncated || stdout.length > maxBytes };
}

/** Throws Problem `host.privilege` with the reason printed by sudo if sudo did not run the command. */
function assertSudo({ code, stdout, stderr }: ExecResult, mark: string, as: string): void {
  if (code === 0 || stdout.includes(`${mark}\n`)) return;
  const said = stderr.toString('latin1').trim().split('\n').at(-1) ?? '';
  const hint = said.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200) || `exit status ${code}`;
  throw new Problem(
    'refused',
    'host.privilege',
    `sudo on the host does not run commands as ${as} (${hint}). Allow sudo without a password (NOPASSWD), because the service does not send a password.`,
  );
}

/** Quotes a string as one word of a POSIX shell command. Throws if the string contains a NUL character, which a command cannot contain. */
function shellWord(text: string): string {
  if (text.includes('\0')) throw new Error('a command cannot contain a NUL character');
  return /^[A-Za-z0-9_/.:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface RunAs {
  readonly loginUser: string;
  readonly privilege: Privilege;
  /** Account that runs the script. Defaults to the login account. */
  readonly as?: string;
}

/**
 * Returns the command line that runs a POSIX shell script with arguments ($1, $2, …), or undefined if the login account may not switch to the requested
 * account. To switch accounts, root uses `runuser` or `su`, and other login accounts use `sudo -n`.
 */
function scriptCommand(script: string, args: readonly string[], runAs: RunAs): string | undefined {
  const words = ['sh', '-c', script, 'sealwright', ...args].map(shellWord).join(' ');
  const { as, loginUser, privilege } = runAs;
  if (as === undefined || as === loginUser) return words;
  const account = shellWord(as);
  if (privilege === 'sudo') return `sudo -n -H -u ${account} -- ${words}`;
  if (privilege === 'none') return undefined;
  if (as === 'root') return words;
  const choice = `if command -v runuser >/dev/null 2>&1; then exec runuser -u ${account} -- ${words}; fi; exec su -s /bin/sh ${account} -c ${shellWord(words)}`;
  return `sh -c ${shellWord(choice)}`;
}
