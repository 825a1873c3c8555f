import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { Config } from '../config/config.js';
import { operatorsWords } from '../errors/database-error.js';
import { RowRetention } from '../work/row-retention.js';
import { WORKER_ID } from '../work/claim.js';
import { SingleFlight } from '../work/single-flight.js';
import { Metrics } from '../observability/metrics.js';
import { type BackgroundState, isFailing } from '../work/background-job.js';
import { BackgroundJobs } from '../work/background-jobs.js';
import { type DatabaseLook, InstanceRepository, type InstanceRow } from './instance.repository.js';
import { PRODUCT_BUILD, epochFault, NEWEST_MIGRATION, unappliedFault } from '../observability/product-version.js';

const BEAT_EVERY_MS = 2000;
/** While the database does not accept writes, the database is checked more often, so that a recovery is detected quickly. */
const RETRY_EVERY_MS = 500;
/** Interval at which the state of jobs is written. This state is larger than the rest of the row and less urgent. */
const JOBS_EVERY_MS = 10_000;
/** Maximum age of a commit that proves the database is writable. */
const MAX_AGE_MS = 5000;
/** Maximum time a caller waits for a heartbeat in progress. */
const PATIENCE_MS = 1000;
/** Maximum round-trip time for which the database time is considered exact. */
const MAX_ROUND_TRIP_MS = 500;

/**
 * InstanceHeartbeat writes the row of this process to `service_instance` every two seconds. The health of the database is defined by this commit, because a
 * database that responds but does not accept writes (a standby, a full disk, a wrong schema) is not usable.
 */
@Injectable()
export class InstanceHeartbeat implements BeforeApplicationShutdown {
  private readonly logger = new Logger(InstanceHeartbeat.name);
  private readonly beats = new SingleFlight(() => undefined);
  private readonly row: Omit<InstanceRow, 'seenAt'>;
  private timer: NodeJS.Timeout | undefined;
  private committedAt = -Infinity;
  private confirmed: Date | undefined;
  private fault: string | undefined = 'nothing has been written yet';
  private schemaFault: string | undefined;
  private unapplied: string | undefined;
  private known: readonly InstanceRow[] = [];
  private lookedAt = -Infinity;
  private databaseTime = 0;
  private jobsWrittenAt = -Infinity;
  /** Names of the jobs that were failing at the last heartbeat. */
  private failing = '';
  private outOfService: (reason: string) => void = () => undefined;

  constructor(
    { role }: Config,
    private readonly instances: InstanceRepository,
    private readonly metrics: Metrics,
    private readonly jobs: BackgroundJobs,
    old: RowRetention,
  ) {
    this.row = {
      id: WORKER_ID,
      role,
      host: hostname(),
      pid: process.pid,
      version: PRODUCT_BUILD,
      schema: NEWEST_MIGRATION,
      startedAt: new Date(),
      clockOffsetMs: 0,
    };
    old.forget({ table: 'service_instance', where: 'true', since: 'seen_at', days: 1 });
  }

  /**
   * Starts the heartbeat. Not called by command-line commands.
   * @param outOfService called once, when the schema is no longer compatible with this version
   */
  async begin(outOfService: (reason: string) => void): Promise<void> {
    this.outOfService = outOfService;
    await this.beat();
    this.plan();
  }

  /** Removes the row while the database connection is still open. Work that ends later no longer belongs to a live process. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    await this.beats.stop();
    const removed = this.instances.remove(this.row.id).catch(() => undefined);
    await Promise.race([removed, sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  /** Returns why the database does not accept writes; undefined if a row was committed within the last seconds. */
  async databaseFault(): Promise<string | undefined> {
    // The process may have been too busy for a heartbeat, so check again before reporting a fault.
    if (this.age() > BEAT_EVERY_MS + PATIENCE_MS && this.timer !== undefined)
      await Promise.race([this.beat(), sleep(PATIENCE_MS, undefined, { ref: false })]);
    if (this.fault !== undefined) return this.fault;
    const seconds = Math.round(this.age() / 1000);
    return this.age() > MAX_AGE_MS ? `the last commit of this process was ${seconds} s ago` : undefined;
  }

  /** Reason why the schema is incompatible with this version; undefined if it is compatible. */
  get schemaTrouble(): string | undefined {
    return this.schemaFault;
  }

  /** Fault if migrations of this version are not recorded as applied; undefined if all migrations are recorded. */
  get migrationTrouble(): string | undefined {
    return this.unapplied;
  }

  /** Offset of this process's clock from the database clock, in milliseconds; positive if ahead. */
  get clockOffsetMs(): number {
    return this.row.clockOffsetMs;
  }

  /** Returns the time of the database clock in milliseconds since 1970; NaN before the first heartbeat. */
  databaseNow(): number {
    return this.lookedAt === -Infinity ? NaN : this.databaseTime + (performance.now() - this.lookedAt);
  }

  /**
   * Time of the database clock before the last confirmed write of this process; undefined before the first. Every commit before this time has the
   * durability that the database guarantees: with synchronous replication, the confirmed write waited for all earlier WAL records.
   */
  get confirmedUntil(): Date | undefined {
    return this.confirmed;
  }

  /** Returns the processes found by the last heartbeat, with the milliseconds since the last heartbeat of each process. */
  seen(): readonly (InstanceRow & { readonly agoMs: number })[] {
    const now = this.databaseNow();
    return this.known.map((instance) => ({ ...instance, agoMs: Math.max(0, now - instance.seenAt.getTime()) }));
  }

  private age(): number {
    return performance.now() - this.committedAt;
  }

  private plan(): void {
    const pause = this.fault === undefined ? BEAT_EVERY_MS : RETRY_EVERY_MS;
    this.timer = setTimeout(() => void this.beat().then(() => this.plan()), pause);
    this.timer.unref();
  }

  private beat(): Promise<void> {
    return this.beats.run(() => this.tryTwice());
  }

  /** Performs a heartbeat, and repeats the heartbeat once on failure. After an outage, the first query may fail on a broken connection. */
  private async tryTwice(): Promise<void> {
    const first = await this.once();
    const fault = first === undefined ? undefined : await this.once();
    if (fault !== this.fault && !this.beats.isStopping) {
      if (fault === undefined) this.logger.log('the database accepts writes again');
      else this.logger.warn(`unable to write to the database: ${fault}`);
    }
    this.fault = fault;
    this.metrics.databaseWritable.set(fault === undefined ? 1 : 0);
  }

  private async once(): Promise<string | undefined> {
    try {
      return await this.instances.onOneConnection((on) => this.beatOn(on));
    } catch (error) {
      return operatorsWords(error);
    }
  }

  /** Performs one heartbeat in a single transaction, because an idle installation commits few other transactions. */
  private async beatOn(on: EntityManager): Promise<string | undefined> {
    let began = 0;
    const jobs = this.jobsToWrite();
    const beat = await on.transaction(async (tx) => {
      const asked = performance.now();
      const look = await this.instances.look(tx);
      this.compareClocks(look, performance.now() - asked);
      this.compareSchema(look);
      if (look.standby) return undefined;
      await this.instances.assertRoom(tx);
      began = performance.now();
      return { look, known: await this.instances.write(tx, this.row, jobs) };
    });
    if (beat === undefined) return 'the database is a standby (in recovery) and does not accept writes';
    this.committedAt = performance.now();
    if (jobs !== undefined) this.jobsWrittenAt = this.committedAt;
    this.confirmed = beat.look.now;
    this.metrics.databaseCommit.observe((this.committedAt - began) / 1000);
    this.known = beat.known;
    return undefined;
  }

  /** Returns the state of the background jobs if the state must be written: every ten seconds, and when a job starts or stops failing. */
  private jobsToWrite(): readonly BackgroundState[] | undefined {
    const states = this.jobs.states();
    const failing = states
      .filter(isFailing)
      .map(({ name }) => name)
      .join();
    const isDue = failing !== this.failing || performance.now() - this.jobsWrittenAt > JOBS_EVERY_MS;
    this.failing = failing;
    return isDue ? states : undefined;
  }

  /** Updates the clock offset. Assumes that the database read its clock halfway through the round trip. */
  private compareClocks({ now }: DatabaseLook, roundTripMs: number): void {
    this.databaseTime = now.getTime();
    this.lookedAt = performance.now();
    if (roundTripMs > MAX_ROUND_TRIP_MS) return;
    this.row.clockOffsetMs = Math.round(Date.now() - roundTripMs / 2 - now.getTime());
    this.metrics.clockOffset.set(this.row.clockOffsetMs / 1000);
  }

  private compareSchema({ epoch, applied }: DatabaseLook): void {
    const fault = epochFault(epoch);
    if (fault !== undefined && this.schemaFault === undefined) this.outOfService(fault);
    this.schemaFault = fault;
    this.unapplied = unappliedFault(applied);
  }
}
