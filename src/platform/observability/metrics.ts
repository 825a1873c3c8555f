import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** Metrics defines the metrics for Prometheus. The help text of each metric explains its meaning. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  readonly http = new Histogram({
    name: 'sealwright_http_request_duration_seconds',
    help: 'Duration of HTTP requests',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });

  readonly hsmSign = new Histogram({
    name: 'sealwright_hsm_sign_duration_seconds',
    help: 'Duration of signing operations, from the request to the key process until the signature is verified',
    labelNames: ['type', 'outcome'],
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
    registers: [this.registry],
  });

  readonly settled = new Counter({
    name: 'sealwright_signing_requests_total',
    help: 'Signing requests completed by this process, by outcome and mode',
    labelNames: ['outcome', 'way'],
    registers: [this.registry],
  });

  readonly backgroundRuns = new Histogram({
    name: 'sealwright_background_run_seconds',
    help: 'Duration of background job runs of this process, by outcome',
    labelNames: ['job', 'outcome'],
    buckets: [0.01, 0.1, 1, 10, 100],
    registers: [this.registry],
  });

  readonly queueReachable = new Gauge({
    name: 'sealwright_queue_reachable',
    help: '1 if Redis accepts writes; while it is 0, workers poll PostgreSQL',
    registers: [this.registry],
  });

  readonly databaseWritable = new Gauge({
    name: 'sealwright_db_write_up',
    help: '1 if this process can write to the database, 0 if the last two attempts failed',
    registers: [this.registry],
  });

  readonly databaseCommit = new Histogram({
    name: 'sealwright_db_commit_seconds',
    help: 'Duration of a small commit, measured every two seconds',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });

  readonly replicationFault = new Gauge({
    name: 'sealwright_db_replication_fault',
    help: '1 if a failover of the database can lose acknowledged writes, contrary to SVC_DATABASE_REPLICATION',
    registers: [this.registry],
  });

  readonly readReplicaAge = new Gauge({
    name: 'sealwright_db_read_replica_age_seconds',
    help: 'Maximum age of the data on the standby used for reads; NaN while all reads use the primary',
    registers: [this.registry],
  });

  readonly clockOffset = new Gauge({
    name: 'sealwright_clock_offset_seconds',
    help: 'Offset of the clock of this process from the database clock; positive if ahead',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'sealwright_' });
  }
}
