import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { dataSourceOptions, type PostgresOptions } from '../database/data-source-options.js';
import { readDatabaseClient } from '../database/database-client.js';
import { operatorsWords } from '../errors/database-error.js';
import { HealthIndicators, type Indication } from '../observability/health-indicators.js';
import { InstanceHeartbeat } from './heartbeat.js';
import { Metrics } from '../observability/metrics.js';
import { Background } from '../work/background.js';

const LOOK_EVERY_MS = 1000;
const POOL_SIZE = 12;

/** ReadSource is a database to read from. */
export interface ReadSource {
  readonly db: DataSource;
  /** Options to open another pool to the same servers. */
  readonly options: PostgresOptions;
}

/**
 * ReadReplica manages the standbys of SVC_DATABASE_READ_URL. Processes write the time into the database every two seconds, so the newest time on a standby
 * limits the age of the standby's data, regardless of the replication method and even if the standby has lost its primary. Only the clock of the primary is
 * used.
 */
@Injectable()
export class ReadReplica implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ReadReplica.name);
  private readonly chosen = new AsyncLocalStorage<ReadSource>();
  readonly primary: ReadSource;
  private readonly standby: ReadSource | undefined;
  /** Newest time found on the standby by the last check, by the primary's clock; NaN if the standby did not respond. */
  private stateOf = NaN;
  private fault: string | undefined = 'the standby has not been checked yet';

  constructor(
    db: DataSource,
    private readonly config: Config,
    private readonly heartbeat: InstanceHeartbeat,
    private readonly metrics: Metrics,
    indicators: HealthIndicators,
  ) {
    this.primary = { db, options: dataSourceOptions(config) };
    if (!isReading(config)) return;
    const options = standbyOptions(config);
    this.standby = { db: new DataSource({ ...options, poolSize: POOL_SIZE }), options };
    indicators.add('reads', async () => this.indication());
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.standby !== undefined) await this.watch();
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.standby?.db.isInitialized === true) await this.standby.db.destroy();
  }

  /** Database that the current request reads from: a standby within `readingFrom`, otherwise the primary. */
  get source(): ReadSource {
    return this.chosen.getStore() ?? this.primary;
  }

  /** Connections of `source`. */
  get db(): DataSource {
    return this.source.db;
  }

  /** Returns the standby and the maximum age of its data in seconds; undefined if the data is older or the standby does not respond. */
  noOlderThan(seconds: number): { readonly source: ReadSource; readonly age: number } | undefined {
    const age = this.age();
    const limit = Math.min(seconds, this.config.databaseReadMaxAgeSeconds);
    // A comparison with NaN is false.
    return this.standby !== undefined && age <= limit ? { source: this.standby, age } : undefined;
  }

  /** Runs `work`, which reads from `source`. */
  readingFrom<Result>(source: ReadSource, work: () => Result): Result {
    return this.chosen.run(source, work);
  }

  /** Reads from the primary until the standby responds again. */
  failed(error: unknown): void {
    this.lost(operatorsWords(error));
  }

  private age(): number {
    return Math.max(0, (this.heartbeat.databaseNow() - this.stateOf) / 1000);
  }

  @Background({ name: 'read-replica', scope: 'process', every: LOOK_EVERY_MS, when: isReading })
  async watch(): Promise<void> {
    await this.look().catch((error: unknown) => this.failed(error));
  }

  private async look(): Promise<void> {
    const { db } = this.standby as ReadSource;
    if (!db.isInitialized) await db.initialize();
    const [row]: { seen: Date | null }[] = await db.query('SELECT max(seen_at) AS seen FROM service_instance');
    this.stateOf = row?.seen?.getTime() ?? NaN;
    const limit = this.config.databaseReadMaxAgeSeconds;
    this.metrics.readReplicaAge.set(this.age());
    if (this.age() <= limit) this.found();
    else this.lost(`the standby is ${Math.round(this.age())} s behind, more than the allowed ${limit} s`);
  }

  private found(): void {
    if (this.fault !== undefined) this.logger.log('reading exports, asset lists and analytics from the standby');
    this.fault = undefined;
  }

  private lost(fault: string): void {
    this.stateOf = NaN;
    this.metrics.readReplicaAge.set(NaN);
    if (this.fault !== fault) this.logger.warn(`reading everything from the primary: ${fault}`);
    this.fault = fault;
  }

  private indication(): Indication {
    if (this.fault !== undefined)
      return { status: 'DOWN', detail: `${this.fault}; everything is read from the primary` };
    return { status: 'UP', detail: `the standby is at most ${Math.ceil(this.age())} s behind` };
  }
}

/** Returns true if this process reads from standbys. */
function isReading({ readDatabase, answers }: Config): boolean {
  return readDatabase !== undefined && answers;
}

function standbyOptions(config: Config): PostgresOptions {
  const options = dataSourceOptions(config);
  return { ...options, extra: { ...(options.extra as object), Client: readDatabaseClient(config) } };
}
