import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/lib/ports.mjs';
import { runToEnd, type Service } from '../../test/support/service.js';
import { digestOf } from '../../test/support/signing.js';
import { openStage, type Stage } from '../../test/support/stage.js';
import { Part } from '../cluster/part.js';
import { until } from '../support/until.js';
import { DIST } from '../signing/controls.js';
import { Prometheus } from './prometheus.js';

type Role = 'api' | 'worker';
const MAX_LOG_MEGABYTES = 400;

/** An installation for drills: its own PostgreSQL, Redis and token, an api, a worker, and a Prometheus that monitors both processes. */
export class Site {
  apiKey = '';
  private readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-drill-'));
  private readonly services = new Map<Role, Service>();
  private isSmall = false;
  private held: Part | undefined;

  private constructor(
    readonly stage: Stage,
    readonly prometheus: Prometheus,
    private readonly ports: Readonly<Record<Role, number>>,
  ) {}

  static async open(): Promise<Site> {
    const stage = await openStage({ ownPostgres: true });
    const ports = { api: await freePort(), worker: await freePort() };
    const targets = Object.values(ports).map((port) => `127.0.0.1:${port}`);
    const prometheus = new Prometheus(join(stage.postgres?.directory ?? tmpdir(), '..', 'prometheus'), targets);
    const site = new Site(stage, prometheus, ports);
    ({ apiKey: site.apiKey } = await stage.seed());
    await site.start('api');
    await site.start('worker');
    await prometheus.start();
    return site;
  }

  get api(): Service {
    return this.service('api');
  }

  get worker(): Service {
    return this.service('worker');
  }

  async start(role: Role, settings: Record<string, string> = {}): Promise<void> {
    this.services.set(role, await this.stage.start({ role, settings: { ...this.management(role), ...settings } }));
  }

  /** Returns the readiness and health of a process from its management port: the status, and the reason for each component that is not UP. */
  async health(role: Role): Promise<{ ready: number; status: string; troubles: Record<string, string> }> {
    const ask = (path: string) => fetch(`http://127.0.0.1:${this.ports[role]}/actuator/health${path}`);
    const ready = await ask('/readiness');
    await ready.text();
    const { status, components } = (await (await ask('')).json()) as {
      status: string;
      components: Record<string, { status: string; details: { detail: string } }>;
    };
    const down = Object.entries(components).filter(([, component]) => component.status === 'DOWN');
    return {
      ready: ready.status,
      status,
      troubles: Object.fromEntries(down.map(([name, { details }]) => [name, details.detail])),
    };
  }

  /** Moves PostgreSQL's data to a separate disk and fills that disk. */
  async fillDisk(): Promise<void> {
    const { postgres } = this.stage;
    if (postgres === undefined) return;
    await postgres.stop();
    const { directory } = postgres;
    const aside = join(this.directory, 'aside');
    execFileSync('cp', ['-a', directory, aside]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=700m,mode=0711', 'sealwright', directory]);
    this.isSmall = true;
    execFileSync('cp', ['-a', `${aside}/.`, directory]);
    await this.stage.restartPostgres();
    execFileSync('sh', ['-c', 'cat /dev/zero > "$1" 2>/dev/null || true', 'sh', join(directory, 'filler')]);
    // Existing segments of the write-ahead log still have free space, so the segments are filled too.
    await this.writeLog().catch(() => undefined);
  }

  private async writeLog(): Promise<void> {
    for (let megabytes = 0; megabytes < MAX_LOG_MEGABYTES; megabytes += 1)
      await this.stage.sql(`SELECT pg_logical_emit_message(true, 'drill', repeat('x', 1000000))`);
  }

  freeDisk(): void {
    if (this.stage.postgres !== undefined) rmSync(join(this.stage.postgres.directory, 'filler'), { force: true });
  }

  /** Combines an older database with the current token, as after a restore, and starts an api that must stay in restore mode. */
  async restoreOlder(): Promise<void> {
    const aside = join(this.directory, 'backup');
    await this.stopAll();
    execFileSync('cp', ['-a', this.disk(), aside]);
    await this.stage.restartPostgres();
    await this.start('api');
    await this.start('worker');
    const size = () => this.stage.sql<{ size: number }>('SELECT max(size)::int AS size FROM log_checkpoint');
    const [before] = await size();
    const body = { digest: digestOf('after the backup'), algorithm: 'sha256' };
    await this.api.call('POST', '/api/v1/sign/digest', { key: this.apiKey, body });
    await until('a checkpoint after the backup', 60, async () => ((await size())[0]?.size ?? 0) > (before?.size ?? 0));
    await this.stopAll();
    rmSync(this.disk(), { recursive: true });
    execFileSync('cp', ['-a', aside, this.disk()]);
    await this.stage.restartPostgres();
    const env = { ...this.stage.settings, ...this.management('api'), SVC_ROLE: 'api' };
    const command = [process.execPath, join(DIST, 'main.js')];
    this.held = new Part({ name: 'api', command, logFile: join(this.directory, 'held.log'), env });
    this.held.start();
  }

  /** Accepts the restored database as an operator would, and restarts both processes. */
  async acceptRestored(): Promise<void> {
    const said = await runToEnd(['restore', 'status'], this.stage.settings).catch(
      (error: { stdout: string }) => error.stdout,
    );
    const [, leaves = ''] = /--leaves (\d+)/.exec(said) ?? [];
    await runToEnd(['restore', 'accept', '--leaves', leaves], this.stage.settings);
    await this.held?.says(/listening on http/, 60_000);
    await this.held?.kill();
    await this.start('api');
    await this.start('worker');
  }

  private async stopAll(): Promise<void> {
    for (const service of this.services.values()) await service.kill();
    await this.stage.postgres?.stop();
  }

  /** Returns PostgreSQL's data directory. */
  private disk(): string {
    return join(this.stage.postgres?.directory ?? '', 'data');
  }

  private management(role: Role): Record<string, string> {
    return { SVC_MANAGEMENT_PORT: String(this.ports[role]), SVC_MANAGEMENT_HOST: '127.0.0.1' };
  }

  async close(): Promise<void> {
    await this.held?.kill();
    await this.prometheus.stop();
    const { postgres } = this.stage;
    await postgres?.stop();
    if (this.isSmall && postgres !== undefined) execFileSync('umount', ['--lazy', postgres.directory]);
    await this.stage.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private service(role: Role): Service {
    const service = this.services.get(role);
    if (service === undefined) throw new Error(`no ${role} was started`);
    return service;
  }
}
