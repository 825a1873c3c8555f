import type ssh2 from 'ssh2';
import { Problem } from '../../platform/errors/problem.js';
import { fingerprintOf } from '../../formats/ssh/public-key.js';
import type { Privilege } from '../model/host.entity.js';
import type { ExecOptions, ExecResult, RunOptions, SshSession } from './ssh-session.port.js';
import { lost, timedOut } from './ssh-fault.js';
import type { LoggedIn } from './ssh-handshake.js';
import { scriptCommand } from './shell-words.js';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;

interface Account {
  readonly hostId: string;
  readonly user: string;
  readonly privilege: Privilege;
}

/** A session over one connection. When it ends, the connections to the jump hosts on its way end too. */
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
    /** Connections that this one goes through, nearest first. */
    private readonly way: readonly ssh2.Client[],
  ) {
    this.client = loggedIn.client;
    this.hostId = account.hostId;
    this.user = account.user;
    this.hostKeyFingerprint = fingerprintOf(loggedIn.hostKey);
    this.software = loggedIn.software;
    this.broken = new Promise((_, reject) => {
      // A reset is told before the end: whoever hears of it must find the session ended.
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
      late.reject(timedOut('a command did not end'));
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
    const command = scriptCommand(script, args, { loginUser: this.user, privilege: this.account.privilege, as });
    if (command !== undefined) return await this.exec(command, options);
    throw new Problem('refused', 'host.privilege', `The login at the host may not act as ${as}.`);
  }

  /** A channel to another machine, for whoever goes on from here. */
  tunnel(address: string, port: number): Promise<ssh2.ClientChannel> {
    const opened = new Promise<ssh2.ClientChannel>((resolve, reject) => {
      this.client.forwardOut('127.0.0.1', 0, address, port, (error, channel) =>
        error === undefined ? resolve(channel) : reject(error),
      );
    });
    return Promise.race([opened, this.broken]);
  }

  /** This connection and those that it goes through. */
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
        // At once: exit status and end may be in the same packet as the consent, and are told in this very turn.
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
        const room = maxBytes - size;
        if (room > 0) chunks.push(chunk.subarray(0, room));
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
      // A channel that closes without a word on how the command ended: the server or the network gave up.
      if (ended === undefined && !truncated) return reject(lost());
      const { code, signal } = ended ?? { code: null, signal: null };
      resolve({ code, signal, truncated, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) });
    });
    channel.end(input);
  });
}
