import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { KeyVault } from '../../hsm/key-vault.js';
import { InstanceHeartbeat } from '../../platform/instances/heartbeat.js';
import { MISSED_AFTER_MS } from '../../platform/instances/instance-indicators.js';
import { PRODUCT_COMMIT, PRODUCT_VERSION, NEWEST_MIGRATION } from '../../platform/observability/product-version.js';
import { BACKUP_JOB } from '../../platform/work/job-lease.repository.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { type OperationsState, OperationsService } from './operations.service.js';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';

/** Use of this process's connections. */
interface PoolUse {
  readonly used: number;
  readonly idle: number;
  /** Calls that are waiting for a connection. */
  readonly waiting: number;
}

/** The connection pool shared by all modules of this process. TypeORM exposes it as the untyped `master` property of its driver. */
@Injectable()
export class DatabasePool {
  constructor(private readonly db: DataSource) {}

  use(): PoolUse {
    const pool = (this.db.driver as unknown as { readonly master?: Pool }).master;
    if (pool === undefined) return { used: 0, idle: 0, waiting: 0 };
    const { totalCount, idleCount, waitingCount } = pool;
    return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }
}

/** A value with its labels, in the order of the label names. */
type Sample = readonly [value: number, ...labels: string[]];

/**
 * Gauges for operators, read on each scrape. Gauges of table contents are the same in every process: alert on the maximum. While the database is
 * unavailable, the gauges of table contents have no samples, and `sealwright_db_write_up` is 0.
 */
@Injectable()
export class OperationsMetrics {
  constructor(
    private readonly metrics: Metrics,
    private readonly operations: OperationsService,
    heartbeat: InstanceHeartbeat,
    vault: KeyVault,
    pool: DatabasePool,
  ) {
    this.ofProcess(vault, pool);
    this.ofInstances(heartbeat);
    this.ofTables();
  }

  private ofProcess(vault: KeyVault, pool: DatabasePool): void {
    this.add('build_info', 'Version and commit of this process, always 1', ['version', 'commit', 'schema'], () => [
      [1, PRODUCT_VERSION, PRODUCT_COMMIT, NEWEST_MIGRATION],
    ]);
    this.add('db_pool', 'Database connections of this process, and calls waiting for a connection', ['state'], () => {
      const { used, idle, waiting } = pool.use();
      return [
        [used, 'used'],
        [idle, 'idle'],
        [waiting, 'waiting'],
      ];
    });
    this.add('hsm_up', '1 if the key process of this process can sign', [], () => [[vault.health().up ? 1 : 0]]);
    this.add('hsm_respawns', 'Restarts of the key process since this process started', [], () => [
      [vault.health().respawns],
    ]);
    this.add('hsm_waiting', 'HSM operations of this process waiting in the queue', [], () => [
      [vault.health().waiting],
    ]);
  }

  private ofInstances(heartbeat: InstanceHeartbeat): void {
    const count = (isCounted: (agoMs: number) => boolean) => (): Sample[] =>
      (['all', 'api', 'worker'] as const).map((role) => [
        heartbeat.seen().filter((one) => one.role === role && isCounted(one.agoMs)).length,
        role,
      ]);
    this.add(
      'instances',
      'Processes that sent a heartbeat within the last 15 seconds',
      ['role'],
      count((ms) => ms <= MISSED_AFTER_MS),
    );
    this.add(
      'instances_missed',
      'Processes that stopped unexpectedly within the last day',
      ['role'],
      count((ms) => ms > MISSED_AFTER_MS),
    );
  }

  private ofTables(): void {
    this.fromState('queue_depth', 'Rows waiting in the queue, counted up to 10000', ['queue'], ({ backlogs }) =>
      backlogs.map(({ queue, depth }) => [depth, queue]),
    );
    this.fromState('queue_oldest_seconds', 'Age of the oldest row in the queue', ['queue'], ({ backlogs }) =>
      backlogs.map(({ queue, oldestSeconds }) => [oldestSeconds, queue]),
    );
    this.fromState('job_last_success_seconds', 'Time since the last successful run of the job', ['job'], ({ jobs }) =>
      jobs.flatMap(({ name, ageSeconds }): Sample[] => (ageSeconds === null ? [] : [[ageSeconds, name]])),
    );
    this.fromState('job_failing', '1 if the last run of the job failed', ['job'], ({ jobs }) =>
      jobs.map(({ name, lastError }) => [lastError === null ? 0 : 1, name]),
    );
    this.fromState(
      'backup_age_seconds',
      'Time since the last successful backup; +Inf if there has been none',
      [],
      ({ jobs }) => [[jobs.find(({ name }) => name === BACKUP_JOB)?.ageSeconds ?? Infinity]],
    );
    this.fromState(
      'log_checkpoint_age_seconds',
      'Age of the newest checkpoint of the audit log',
      [],
      ({ checkpointAge }) => (checkpointAge === undefined ? [] : [[checkpointAge]]),
    );
    this.fromState(
      'certificate_expiry_days_min',
      'Days until the next certificate of an active signing key expires',
      ['of'],
      ({ certificateDays }) => certificateDays.map(({ name, value }) => [value, name]),
    );
    this.fromState('rotation_targets', 'Open targets of SSH key rotations', ['state'], ({ rotationTargets }) =>
      rotationTargets.map(({ name, value }) => [value, name]),
    );
    this.fromState(
      'db_oldest_transaction_seconds',
      'Age of the oldest open transaction in the database',
      [],
      ({ oldestTransaction }) => [[oldestTransaction]],
    );
    this.ofStreams();
    this.add('table_bytes', 'Size of the table, including its indexes', ['table'], async () =>
      (await this.operations.tableBytes()).map(({ name, value }) => [value, name]),
    );
  }

  private ofStreams(): void {
    this.fromState(
      'stream_waiting',
      'Audit log leaves that the receiver has not acknowledged',
      ['stream'],
      ({ streams }) => streams.map(({ name, waiting }) => [waiting, name]),
    );
    this.fromState(
      'stream_oldest_seconds',
      'Age of the oldest leaf that the receiver has not acknowledged',
      ['stream'],
      ({ streams }) => streams.map(({ name, oldestSeconds }) => [oldestSeconds, name]),
    );
    this.fromState(
      'stream_last_success_seconds',
      'Time since the last acknowledgement by the receiver',
      ['stream'],
      ({ streams }) =>
        streams.flatMap(({ name, successSeconds }): Sample[] =>
          successSeconds === null ? [] : [[successSeconds, name]],
        ),
    );
  }

  private fromState(
    name: string,
    help: string,
    labels: readonly string[],
    samples: (state: OperationsState) => readonly Sample[],
  ): void {
    this.add(name, help, labels, async () => samples(await this.operations.read()));
  }

  private add(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => readonly Sample[] | Promise<readonly Sample[]>,
  ): void {
    const gauge: Gauge = new Gauge({
      name: `sealwright_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [this.metrics.registry],
      collect: async () => {
        const samples = await Promise.resolve()
          .then(read)
          .catch((): Sample[] => []);
        gauge.reset();
        for (const [value, ...labels] of samples)
          gauge.set(Object.fromEntries(labelNames.map((label, place) => [label, labels[place] ?? ''])), value);
        if (labelNames.length === 0 && samples.length === 0) gauge.remove();
      },
    });
  }
}
