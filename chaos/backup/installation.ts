import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PrivateRedis, startRedis } from '../../scripts/lib/redis.mjs';
import { atKnownAddress } from '../../test/auth/people.js';
import { sealwright } from '../../test/client/program.js';
import { createToken, type TestToken } from '../../test/support/hsm.js';
import { type Service, startService } from '../../test/support/service.js';
import { digestOf, sign } from '../../test/support/signing.js';
import { type InstalledPostgres, startInstalled } from './installed-postgres.js';

const CLI = join(import.meta.dirname, '../../dist/cli.js');
export const SECRET = 'a-jwt-secret-that-must-be-in-no-backup-0123456789';
const CALLERS = 3;

interface Ended {
  readonly code: number | string | null;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly settings?: Record<string, string>;
  /** Sends the signal after this many milliseconds. */
  readonly after?: { readonly ms: number; readonly signal: NodeJS.Signals };
  /** Shell commands to run first, such as `ulimit -f 64;`. */
  readonly shell?: string;
}

/** An installation with its own stores, one process for all roles, and `sealwright-admin`. */
export class Installation {
  apiKey = '';
  service: Service | undefined;

  private constructor(
    readonly place: string,
    readonly postgres: InstalledPostgres,
    readonly redis: PrivateRedis,
    readonly token: TestToken,
    private readonly address: Record<string, string>,
  ) {}

  static async make(place: string, bin: string): Promise<Installation> {
    const postgres = await startInstalled(bin, join(place, 'data'));
    const redis = await startRedis({ dir: join(place, 'redis') });
    mkdirSync(join(place, 'hsm'), { mode: 0o700 });
    const made = new Installation(place, postgres, redis, createToken(join(place, 'hsm')), await atKnownAddress());
    await postgres.sql('CREATE DATABASE sealwright');
    await made.must(['migrate']);
    await made.must(['seed-demo', '--out', join(place, 'demo.env')]);
    made.apiKey = /^API_KEY='(.*)'$/m.exec(readFileSync(join(place, 'demo.env'), 'utf8'))?.[1] ?? '';
    return made;
  }

  get url(): string {
    return this.address['SVC_PUBLIC_URL'] ?? '';
  }

  get settings(): Record<string, string> {
    return {
      ...this.token.settings,
      ...this.address,
      SOFTHSM2_CONF: this.token.environment.SOFTHSM2_CONF,
      SVC_PKCS11_LIBRARY: process.env['SW_TEST_SOFTHSM'] ?? '/usr/lib/softhsm/libsofthsm2.so',
      SVC_DATABASE_URL: this.postgres.url('sealwright'),
      SVC_REDIS_URL: this.redis.url,
      SVC_JWT_SECRET: SECRET,
      SVC_HOST: '127.0.0.1',
    };
  }

  async start(): Promise<Service> {
    this.service = await startService(this.settings);
    return this.service;
  }

  /** Runs `sealwright-admin`. */
  async admin(args: readonly string[], { settings = {}, after, shell }: RunOptions = {}): Promise<Ended> {
    const env = { ...process.env, ...this.settings, ...settings };
    const words = [process.execPath, CLI, ...args];
    const [program = '', ...rest] =
      shell === undefined ? words : ['/bin/sh', '-c', `${shell} exec "$0" "$@"`, ...words];
    const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const timer = after && setTimeout(() => child.kill(after.signal), after.ms);
    await once(child, 'close');
    clearTimeout(timer);
    return { code: child.exitCode ?? child.signalCode, out, err };
  }

  /** Like `admin`, but throws unless the exit code is 0. */
  async must(args: readonly string[], options?: RunOptions): Promise<string> {
    const { code, out, err } = await this.admin(args, options);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${out}${err}`);
    return out;
  }

  /** Runs `log verify` as an auditor with the state in this file, or as a new auditor if no file is given. */
  async audited(key: string, state?: string): Promise<{ code: number; out: string }> {
    const env = { SEALWRIGHT_URL: this.url, SEALWRIGHT_TOKEN: this.apiKey };
    return sealwright(['log', 'verify', '--key', key, ...(state === undefined ? [] : ['--state', state])], { env });
  }

  /** Waits until a checkpoint covers every audit entry. */
  async settled(): Promise<void> {
    const open = `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS open`;
    for (let tries = 0; tries < 300; tries += 1) {
      const [row] = await this.postgres.sql<{ open: boolean }>(open, 'sealwright');
      if (row?.open === false) return;
      await sleep(200);
    }
    throw new Error('no checkpoint over all entries');
  }

  async close(): Promise<void> {
    await this.service?.kill('SIGKILL').catch(() => undefined);
    await this.redis.stop();
    await this.postgres.stop();
  }
}

/** Signs continuously until stopped. */
export class Load {
  signed = 0;
  readonly refused: string[] = [];
  private goesOn = true;
  private readonly callers: Promise<void>[];

  constructor(
    private readonly service: Service,
    private readonly apiKey: string,
  ) {
    this.callers = Array.from({ length: CALLERS }, (_, number) => this.call(number));
  }

  async stop(): Promise<void> {
    this.goesOn = false;
    await Promise.all(this.callers);
  }

  private async call(number: number): Promise<void> {
    for (let round = 0; this.goesOn; round += 1) {
      const body = { digest: digestOf(`${number} ${round}`), algorithm: 'sha256' };
      const { status } = await sign(this.service, { key: this.apiKey, body }).catch(() => ({ status: 0 }));
      if (status === 200) this.signed += 1;
      else this.refused.push(String(status));
    }
  }
}
