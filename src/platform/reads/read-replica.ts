import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { dataSourceOptions, type PostgresOptions } from '../database/data-source-options.js';
import { readDatabaseClient } from '../database/database-client.js';
import { operatorsWords } from '../database/database-error.js';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';
import { InstanceHeartbeat } from '../instances/heartbeat.js';
import { Metrics } from '../metrics/metrics.js';
import { Background } from '../work/background.js';

const LOOK_EVERY_MS = 1000;
const POOL_SIZE = 12;

/** A database to read from. */
export interface ReadSource {
  readonly db: DataSource;
  /** Opens a pool of its own to the same servers. */
  readonly options: PostgresOptions;
}

/**
 * The standbys of SVC_DATABASE_READ_URL. Processes write the time into the database every two seconds, so the newest of these times that a standby
 * has says how old its state is at most, whatever replicates it, and also when it has lost its primary. The clock is the primary's alone.
 */
@Injectable()
export class ReadReplica implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ReadReplica.name);
  private readonly chosen = new AsyncLocalStorage<ReadSource>();
  readonly primary: ReadSource;
  private readonly standby: ReadSource | undefined;
  /** The newest time that the standby had at the last look, by the clock of the primary; NaN: it did not answer. */
  private stateOf = NaN;
  private fault: string | undefined = 'not read yet';

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

  /** Where the call that is under way reads: a standby inside of `readingFrom`, else the primary. */
  get source(): ReadSource {
    return this.chosen.getStore() ?? this.primary;
  }

  /** The connections of `source`. */
  get db(): DataSource {
    return this.source.db;
  }

  /** The standby, and how old its state is at most, in seconds. Undefined when it is older than that, or does not answer. */
  noOlderThan(seconds: number): { readonly source: ReadSource; readonly age: number } | undefined {
    const age = this.age();
    const limit = Math.min(seconds, this.config.databaseReadMaxAgeSeconds);
    // NaN is no age.
    return this.standby !== undefined && age <= limit ? { source: this.standby, age } : undefined;
  }

  /** Runs `work`, whose readers read there. */
  readingFrom<Result>(source: ReadSource, work: () => Result): Result {
    return this.chosen.run(source, work);
  }

  /** Reads from the primary until the standby answers again. */
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
    else this.lost(`the standby is ${Math.round(this.age())} s behind, and ${limit} s are allowed`);
  }

  private found(): void {
    if (this.fault !== undefined) this.logger.log('exports, lists of assets and analytics are read from the standby');
    this.fault = undefined;
  }

  private lost(fault: string): void {
    this.stateOf = NaN;
    this.metrics.readReplicaAge.set(NaN);
    if (this.fault !== fault) this.logger.warn(`everything is read from the primary: ${fault}`);
    this.fault = fault;
  }

  private indication(): Indication {
    if (this.fault !== undefined)
      return { status: 'DOWN', detail: `${this.fault}; everything is read from the primary` };
    return { status: 'UP', detail: `the standby is at most ${Math.ceil(this.age())} s behind` };
  }
}

/** Reports whether this process reads from standbys. */
function isReading({ readDatabase, answers }: Config): boolean {
  return readDatabase !== undefined && answers;
}

function standbyOptions(config: Config): PostgresOptions {
  const options = dataSourceOptions(config);
  return { ...options, extra: { ...(options.extra as object), Client: readDatabaseClient(config) } };
}
