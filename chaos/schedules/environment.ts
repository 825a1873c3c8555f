import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../../scripts/lib/postgres.mjs';
import { registerSensor } from '../../test/sensors/sensor-calls.js';
import type { Service } from '../../test/support/service.js';
import { openStage, type Stage } from '../../test/support/stage.js';

const SKEWED = join(import.meta.dirname, '../../test/fakes/skewed-clock.mjs');
const FAKETIME = '/usr/$LIB/faketime/libfaketime.so.1';

export interface Run {
  readonly schedule: string;
  readonly dueAt: Date;
  readonly trigger: string;
  readonly status: string;
  readonly missed: number;
  readonly detail: string | null;
  /** Number of scan commands sent to the schedule's sensor. */
  readonly commands: number;
}

/** The built service with three workers and a PostgreSQL, all with adjustable clocks. */
export class Environment {
  readonly workers: Service[] = [];
  private made = 0;

  private constructor(
    readonly directory: string,
    readonly stage: Stage,
    private readonly api: Service,
    private readonly key: string,
    private readonly sensor: string,
  ) {}

  static async open(): Promise<Environment> {
    const directory = mkdtempSync(join(tmpdir(), 'sealwright-clocks-'));
    const stage = await openStage({ ownPostgres: true });
    const { apiKey } = await stage.seed();
    const api = await stage.start({ role: 'api' });
    const { id } = await registerSensor(api, apiKey);
    await stage.change(`UPDATE api_key SET expiry = '2040-01-01'`);
    const environment = new Environment(directory, stage, api, apiKey, id);
    for (const skew of [-7, 0, 11]) await environment.startWorker(environment.workers.length, skew);
    return environment;
  }

  async close(): Promise<void> {
    await this.stage.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Starts the worker with this number and a clock that is off by this many seconds. */
  async startWorker(place: number, skewSeconds: number): Promise<void> {
    this.skewWorker(place, skewSeconds);
    const settings = { NODE_OPTIONS: `--import ${SKEWED}`, SKEW_FILE: this.skewFile(place) };
    this.workers[place] = await this.stage.start({ role: 'worker', settings });
  }

  /** Sets the clock offset of a worker. */
  skewWorker(place: number, seconds: number): void {
    writeFileSync(this.skewFile(place), String(seconds * 1000));
  }

  /** Restarts the database with an adjustable clock. */
  async holdDatabaseClock(): Promise<void> {
    const { postgres } = this.stage;
    if (postgres === undefined) throw new Error('the stage has no PostgreSQL of its own');
    this.moveDatabaseClock(0);
    await postgres.stop();
    const environment = {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: this.clockFile,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
    await startPostgres({ dir: postgres.directory, port: postgres.port, environment });
    await this.until('the database', 30, async () => (await this.stage.sql(`SELECT 1`)).length === 1);
  }

  /** Sets the offset between the database clock and the machine's clock. */
  moveDatabaseClock(seconds: number): void {
    writeFileSync(this.clockFile, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(3)}s\n`, { mode: 0o644 });
  }

  async setDatabaseClock(at: Date): Promise<void> {
    this.moveDatabaseClock((at.getTime() - Date.now()) / 1000);
    await this.until('the clock', 5, async () => Math.abs((await this.databaseNow()).getTime() - at.getTime()) < 5000);
  }

  async databaseNow(): Promise<Date> {
    const [row] = await this.stage.sql<{ now: Date }>(`SELECT now() AS now`);
    return row?.now ?? new Date(NaN);
  }

  async create(timetable: object): Promise<string> {
    const body = {
      name: `schedule ${(this.made += 1)}`,
      target: 'sensor-scan',
      settings: { sensor: this.sensor },
      ...timetable,
    };
    const answer = await this.api.call('POST', '/api/schedules', { key: this.key, body });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body.id as string;
  }

  runs(schedules: readonly string[]): Promise<Run[]> {
    return this.stage.sql<Run>(
      `SELECT r.schedule_id AS schedule, r.due_at AS "dueAt", r.trigger, r.status, r.missed, r.detail,
         (SELECT count(*)::int FROM sensor_command c WHERE c.run_id = r.id) AS commands
       FROM schedule_run r WHERE r.schedule_id = ANY($1::uuid[]) ORDER BY r.due_at, r.schedule_id`,
      [schedules],
    );
  }

  /** Ends all runs in progress, as sensors do. */
  async endRuns(): Promise<void> {
    await this.stage.sql(`UPDATE schedule_run SET status = 'SUCCEEDED', ended_at = now() WHERE status = 'RUNNING'`);
  }

  async removeSchedules(): Promise<void> {
    await this.stage.sql(`DELETE FROM schedule_run`);
    await this.stage.sql(`DELETE FROM schedule`);
  }

  async until(what: string, seconds: number, check: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (!(await check().catch(() => false))) {
      if (performance.now() > end) throw new Error(`waited ${seconds} s in vain for ${what}`);
      await sleep(100);
    }
  }

  private skewFile(place: number): string {
    return join(this.directory, `worker-${place}`);
  }

  private get clockFile(): string {
    return join(this.directory, 'database');
  }
}
