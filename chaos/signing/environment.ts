import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { type PrivatePostgres, removePostgres, startPostgres } from '../../scripts/lib/postgres.mjs';
import { type PrivateRedis, startRedis } from '../../scripts/lib/redis.mjs';
import { createToken } from '../../scripts/lib/softhsm.mjs';
import { buildShim, type Shim } from '../../test/fakes/pkcs11-shim/shim.js';

/** Enables commit timestamps, which show whether an intent was committed before the HSM was called. */
const POSTGRES_SETTINGS = { track_commit_timestamp: 'on' };

/** The environment of a run: PostgreSQL, Redis and a token behind the shim. All three are private to the run and subject to faults. */
export class Environment {
  readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-chaos-'));
  readonly logs = join(this.directory, 'logs');
  /** Secrets by name, which must not leak. */
  readonly secrets = new Map<string, string>();
  private postgres!: PrivatePostgres;
  private redis!: PrivateRedis;
  shim!: Shim;
  private token!: Awaited<ReturnType<typeof createToken>>;

  static async open(): Promise<Environment> {
    const environment = new Environment();
    // The database server runs under a separate account, which must be able to traverse the directory.
    chmodSync(environment.directory, 0o711);
    mkdirSync(environment.logs);
    environment.token = await createToken({ dir: join(environment.directory, 'token'), label: 'sealwright-chaos' });
    environment.shim = buildShim(environment.directory, environment.token.library);
    environment.postgres = await startPostgres({ dir: environment.place('postgres'), settings: POSTGRES_SETTINGS });
    environment.redis = await startRedis({ dir: environment.place('redis') });
    environment.nameSecrets();
    return environment;
  }

  /** Settings of all service processes. */
  get settings(): Record<string, string> {
    return {
      ...this.token.environment,
      ...this.shim.environment,
      SVC_DATABASE_URL: this.postgres.url,
      SVC_REDIS_URL: this.redis.url,
      SVC_HOST: '127.0.0.1',
      SVC_PORT: '0',
      SVC_JWT_SECRET: this.secret('JWT secret'),
      SVC_PKCS11_LIBRARY: this.shim.library,
      SVC_PKCS11_TOKEN_LABEL: this.token.label,
      SVC_PKCS11_PIN_FILE: this.token.pinFile,
    };
  }

  /** Parameters for accessing the token through the real module, independently of the service. */
  get tokenAccess() {
    const { library, label, environment } = this.token;
    return { library, label, environment, pin: this.secret('PIN') };
  }

  get storeLogs(): string[] {
    return [this.postgres.logFile, this.redis.logFile];
  }

  secret(name: string): string {
    const value = this.secrets.get(name);
    if (value === undefined) throw new Error(`there is no secret named ${name}`);
    return value;
  }

  async sql<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: this.postgres.url, application_name: 'chaos' });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async stopPostgres(): Promise<void> {
    await this.postgres.kill('immediate');
  }

  async restartPostgres(): Promise<void> {
    const { port } = this.postgres;
    this.postgres = await startPostgres({ dir: this.place('postgres'), port, settings: POSTGRES_SETTINGS });
  }

  async cutConnections(): Promise<void> {
    const client = new Client({ connectionString: this.postgres.adminUrl });
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'sealwright'`);
    await client.end();
  }

  signalRedis(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void> {
    return this.redis.kill(signal);
  }

  async restartRedis(): Promise<void> {
    this.redis = await startRedis({ dir: this.place('redis'), port: this.redis.port });
  }

  /** Runs `ask` with a separate database connection. */
  async onRedis<T>(ask: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.redis.url, { lazyConnect: true, maxRetriesPerRequest: 0, commandTimeout: 5000 });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  }

  keepLogs(directory: string): void {
    mkdirSync(directory, { recursive: true });
    cpSync(this.logs, directory, { recursive: true });
    for (const file of [...this.storeLogs, this.shim.environment.SHIM_JOURNAL])
      cpSync(file, join(directory, basename(file)));
  }

  async close(): Promise<void> {
    await this.redis.kill('SIGCONT');
    await this.redis.stop();
    await this.postgres.stop();
    await removePostgres(this.place('postgres'));
    rmSync(this.directory, { recursive: true, force: true });
  }

  private place(name: string): string {
    return join(this.directory, name);
  }

  private nameSecrets(): void {
    const pinOf = (name: string) => readFileSync(join(this.directory, 'token', name), 'utf8').trim();
    const add = (name: string, value: string) => this.secrets.set(name, value);
    add('PIN', pinOf('user.pin'));
    add('SO-PIN', pinOf('so.pin'));
    add('JWT secret', `jwt+canary/${randomBytes(24).toString('base64')}`);
    add('database password', new URL(this.postgres.url).password);
    add('database administrator password', new URL(this.postgres.adminUrl).password);
    add('Redis password', new URL(this.redis.url).password);
  }
}
