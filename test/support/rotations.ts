import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Service } from './service.js';
import { until } from './signing.js';
import { type ClientKey, newClientKey, type Sshd, type SshdOptions, startSshd } from './sshd.js';

/** A managed host with the account whose key is rotated. */
export interface ManagedHost {
  readonly id: string;
  readonly name: string;
  readonly sshd: Sshd;
}

/** Polling interval for rotations, many of which are polled concurrently. */
const LOOK_MS = 200;

/** Result of a login with the ssh command. */
export type LoginResult = 'accepted' | 'denied' | `unclear: ${string}`;

/** SSH hosts with an account `deploy`, managed by a service that may rotate their keys. */
export class SshFleet {
  readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-field-'));
  readonly hosts: ManagedHost[] = [];
  private readonly login = newClientKey(this.directory, 'login');
  private names = 0;

  constructor(
    private readonly service: () => Service,
    private readonly apiKey: string,
    /** Prefix of host names, which must differ if a service has two fleets. */
    private readonly prefix = 'host',
  ) {}

  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.service().call(method, path, { key: this.apiKey, body, headers });
  }

  /** Sends a call and throws unless it succeeds. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.call(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** Returns the alert about a rotation or a key, if any. */
  async alertAbout(subject: string): Promise<Answer['body']> {
    const { items } = await this.ask('GET', '/api/alerts?limit=200');
    return items.find((alert: { subject: { id: string } }) => alert.subject.id === subject);
  }

  /** Starts an sshd with a pinned host key, to which the service logs in as root. */
  async addHost(options: SshdOptions = {}, record: Record<string, unknown> = {}): Promise<ManagedHost> {
    const sshd = await startSshd(options);
    sshd.authorize('root', this.login.publicKey);
    const { id, name } = await this.ask('POST', '/v1/hosts', {
      name: `${this.prefix}-${(this.names += 1)}`,
      address: sshd.address,
      port: sshd.port,
      managementMode: 'managed',
      privilege: 'root',
      credential: { user: 'root', privateKey: this.login.privateKey },
      ...record,
    });
    await this.ask('POST', `/v1/hosts/${id}/host-keys`, { publicKey: sshd.hostKey('ed25519') });
    const host = { id, name, sshd };
    this.hosts.push(host);
    return host;
  }

  /** Generates a key pair and registers its public half. */
  async newKey(kind?: string[], custody?: string): Promise<ClientKey & { readonly id: string }> {
    const key = newClientKey(this.directory, `key-${(this.names += 1)}`, kind);
    const { id } = await this.ask('POST', '/v1/keys', { publicKey: key.publicKey, custody });
    return { ...key, id };
  }

  /** Requests a rotation for `deploy` on these hosts. @returns the rotation ID */
  async rotate(keyId: string, hosts: readonly ManagedHost[], order: Record<string, unknown> = {}): Promise<string> {
    const targets = hosts.map(({ id }) => ({ hostId: id, account: 'deploy' }));
    const { id } = await this.ask('POST', `/v1/keys/${keyId}/rotate`, { targets, overlapSeconds: 2, ...order });
    return id;
  }

  /** Waits until the rotation has one of these states, by default any final state. */
  ended(
    id: string,
    seconds = 60,
    statuses = ['DONE', 'PARTIAL', 'ROLLED_BACK', 'CRITICAL', 'PLANNED', 'HALTED'],
  ): Promise<Answer['body']> {
    const look = async () => {
      const answer = await this.call('GET', `/v1/rotations/${id}`).catch(() => undefined);
      return answer?.status === 200 && statuses.includes(answer.body.status) && answer.body;
    };
    return until(`the end of rotation ${id}`, seconds, look, LOOK_MS);
  }

  async targets(id: string): Promise<Answer['body'][]> {
    return (await this.ask('GET', `/v1/rotations/${id}/targets?limit=200`)).items;
  }

  /** Returns the private key of the current successor of `keyId`, or undefined if the service does not release the key. */
  async released(keyId: string): Promise<{ id: string; privateKey: string } | undefined> {
    const answer = await this.call('POST', `/v1/keys/${keyId}/private-key`).catch(() => undefined);
    return answer?.status === 200 ? answer.body : undefined;
  }

  /** Writes a private key to a file that ssh accepts. */
  keep(name: string, privateKey: string): string {
    const file = join(this.directory, name);
    writeFileSync(file, privateKey, { mode: 0o600 });
    return file;
  }

  async close(): Promise<void> {
    await Promise.all(this.hosts.map(({ sshd }) => sshd.close()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Logs in using ssh with only this private key. */
export async function logIn({ sshd }: ManagedHost, file: string, user = 'deploy'): Promise<LoginResult> {
  const options = {
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    BatchMode: 'yes',
    StrictHostKeyChecking: 'no',
    UserKnownHostsFile: '/dev/null',
    ConnectTimeout: '10',
  };
  const args = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const at = ['-p', String(sshd.port), `${user}@${sshd.address}`, 'true'];
  const child = spawn('ssh', ['-F', 'none', '-i', file, ...args, ...at], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return 'accepted';
  return said.includes('Permission denied') ? 'denied' : `unclear: ${said.trim().split('\n').at(-1)}`;
}

/** A user who logs in with the key released by the service, or with the first key until a key is released. */
export class KeyHolder {
  private inForce: string;
  private file: string;

  constructor(
    private readonly field: SshFleet,
    readonly host: ManagedHost,
    private readonly first: { readonly id: string; readonly file: string },
  ) {
    this.inForce = first.id;
    this.file = first.file;
  }

  async logIn(): Promise<LoginResult> {
    const released = await this.field.released(this.first.id);
    if (released !== undefined && released.id !== this.inForce) {
      this.inForce = released.id;
      this.file = this.field.keep(`released-${released.id}`, released.privateKey);
    }
    return logIn(this.host, this.file);
  }
}

/** Logs in with a key holder's key continuously. */
export class Hammer {
  readonly results: LoginResult[] = [];
  private stopped = false;
  private readonly running: Promise<void>;

  constructor(
    private readonly holder: KeyHolder,
    private readonly pauseMs = 50,
  ) {
    this.running = this.run();
  }

  /** Stops the logins. @returns the logins that were not accepted */
  async stop(): Promise<LoginResult[]> {
    this.stopped = true;
    await this.running;
    return this.results.filter((result) => result !== 'accepted');
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      this.results.push(await this.holder.logIn());
      await sleep(this.pauseMs);
    }
  }
}
