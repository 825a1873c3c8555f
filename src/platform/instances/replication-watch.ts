import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { HealthIndicators, type Indication } from '../observability/health-indicators.js';
import { Metrics } from '../observability/metrics.js';
import { Background } from '../work/background.js';
import { readReplication, asynchronousFault, type Replication, synchronousDetail } from './replication.reader.js';

const LOOK_EVERY_MS = 5000;
const LOOKS_PER_IDLE_LOOK = 6;

/**
 * ReplicationWatch reports whether a failover of the database could lose acknowledged commits. The state is logged on every change, and is part of health
 * and of the metric `sealwright_db_replication_fault`. With SVC_DATABASE_REPLICATION=required, a process does not start in this state (schema-gate.ts).
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

  /** Returns the state of the last check. Reads the state if there has been no check. */
  async read(): Promise<Replication> {
    return this.last ?? readReplication((text) => this.db.query(text));
  }

  @Background({ name: 'replication-watch', scope: 'process', every: LOOK_EVERY_MS })
  async look(): Promise<void> {
    this.looks += 1;
    // If no standby is connected or required, occasional checks are sufficient to detect the first standby.
    if (this.last !== undefined && this.isExpected(this.last) && this.looks % LOOKS_PER_IDLE_LOOK !== 0) return;
    this.last = await readReplication((text) => this.db.query(text));
    const fault = asynchronousFault(this.last);
    this.metrics.replicationFault.set(this.indication().status === 'DOWN' ? 1 : 0);
    if (this.isExpected(this.last) || fault === this.said) return;
    this.said = fault;
    if (fault === undefined) this.logger.log(synchronousDetail(this.last));
    else this.logger.warn(fault);
  }

  /** Reports whether asynchronous commits are expected: without a standby, no failover can happen. */
  private isExpected({ names, standbys }: Replication): boolean {
    return this.config.databaseReplication === 'any' && names === '' && standbys === 0;
  }

  private indication(): Indication {
    if (this.last === undefined) return { status: 'UNKNOWN', detail: 'replication has not been checked yet' };
    const fault = asynchronousFault(this.last);
    if (fault === undefined) return { status: 'UP', detail: synchronousDetail(this.last) };
    if (this.config.databaseReplication !== 'any') return { status: 'DOWN', detail: fault };
    return this.last.standbys === 0
      ? { status: 'UNKNOWN', detail: 'no standby is connected' }
      : { status: 'UP', detail: fault };
  }
}
