import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';
import { Metrics } from '../metrics/metrics.js';
import { Background } from '../work/background.js';
import { readReplication, asynchronousFault, type Replication, synchronousDetail } from './replication.reader.js';

const LOOK_EVERY_MS = 5000;
const LOOKS_PER_IDLE_LOOK = 6;

/**
 * Says whether a fail-over of the database can lose what was acknowledged: in the log when that changes, in health and in the metric
 * `sealwright_db_replication_fault`. With SVC_DATABASE_REPLICATION=required a process does not start either while it can (schema-gate.ts).
 */
@Injectable()
export class ReplicationWatch implements OnApplicationBootstrap {
  private readonly logger = new Logger(ReplicationWatch.name);
  private last: Replication | undefined;
  private said: string | undefined;
  private looks = 0;

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly metrics: Metrics,
    indicators: HealthIndicators,
  ) {
    indicators.add('replication', async () => this.indication());
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.look().catch(() => undefined);
  }

  /** How it was at the last look; reads it when there was none. */
  async read(): Promise<Replication> {
    return this.last ?? readReplication((text) => this.db.query(text));
  }

  @Background({ name: 'replication-watch', scope: 'process', every: LOOK_EVERY_MS })
  async look(): Promise<void> {
    this.looks += 1;
    // If no standby exists and none is required, an occasional check is enough to find the first standby.
    if (this.last !== undefined && this.isExpected(this.last) && this.looks % LOOKS_PER_IDLE_LOOK !== 0) return;
    this.last = await readReplication((text) => this.db.query(text));
    const fault = asynchronousFault(this.last);
    this.metrics.replicationFault.set(this.indication().status === 'DOWN' ? 1 : 0);
    if (this.isExpected(this.last) || fault === this.said) return;
    this.said = fault;
    if (fault === undefined) this.logger.log(synchronousDetail(this.last));
    else this.logger.warn(fault);
  }

  /** A database without any standby has no fail-over. */
  private isExpected({ names, standbys }: Replication): boolean {
    return this.config.databaseReplication === 'any' && names === '' && standbys === 0;
  }

  private indication(): Indication {
    if (this.last === undefined) return { status: 'UNKNOWN', detail: 'not read yet' };
    const fault = asynchronousFault(this.last);
    if (fault === undefined) return { status: 'UP', detail: synchronousDetail(this.last) };
    if (this.config.databaseReplication !== 'any') return { status: 'DOWN', detail: fault };
    return this.last.standbys === 0
      ? { status: 'UNKNOWN', detail: 'no standby follows' }
      : { status: 'UP', detail: fault };
  }
}
