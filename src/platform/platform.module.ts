import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CatalogueCheck } from './sealing/catalogue-check.js';
import { Config } from './config/config.js';
import { dataSourceOptions, type PostgresOptions } from './database/data-source-options.js';
import { DatabaseSessions } from './database/database-sessions.js';
import { ServiceDataSource } from './database/service-data-source.js';
import { RowRetention } from './work/row-retention.js';
import { EventBus } from './events/events.js';
import { AlertEventRow } from './events/alert-events.js';
import { Inbox, InboxMessage } from './queue/inbox.js';
import { HealthIndicators } from './observability/health-indicators.js';
import { BodyMemory } from './http/bodies/body-memory.js';
import { ArrivingBodies } from './http/bodies/arriving-bodies.js';
import { GracefulShutdown } from './http/server/graceful-shutdown.js';
import { Cursors } from './http/cursors.js';
import { RateLimits } from './http/rate-limits.js';
import { IdempotencyKey, IdempotencyKeys, OldIdempotencyKeys } from './http/idempotency-keys.js';
import { InstanceHeartbeat } from './instances/heartbeat.js';
import { InstanceIndicators } from './instances/instance-indicators.js';
import { InstanceRepository, ServiceInstance } from './instances/instance.repository.js';
import { SchemaEpoch } from './instances/schema-gate.js';
import { JobLease, JobLeases } from './work/job-lease.repository.js';
import { Metrics } from './observability/metrics.js';
import { OutboundClient } from './outbound/outbound-client.js';
import { OutboxMessage, Outbox } from './queue/outbox.js';
import { ReadReplica } from './instances/read-replica.js';
import { ReplicationWatch } from './instances/replication-watch.js';
import { ServiceCryptoAssets } from './events/service-crypto-assets.js';
import { ScheduleRun } from './events/schedule-run.entity.js';
import { ScheduleTargets, ScheduledRuns } from './events/schedule-targets.js';
import { Resealer, ResealerJobs } from './sealing/resealer.js';
import { RowSealEpoch } from './sealing/row-seal-epoch.js';
import { RowSealHealth } from './sealing/row-seal-health.js';
import { RowSealKeeper } from './sealing/row-seal-keeper.js';
import { RowSeals } from './sealing/row-seals.js';
import { Seal } from './sealing/seal.js';
import { SealFormatRow, SealFormat } from './sealing/seal-format.js';
import { SealedColumns, SealedColumnsHealth } from './sealing/sealed-columns.js';
import { TracingEnd } from './observability/tracing.js';
import { Clock } from './work/clock.js';
import { BackgroundDiscovery } from './work/background-discovery.js';
import { BackgroundJobs } from './work/background-jobs.js';
import { DueJobs } from './work/due-jobs.js';

const ENTITIES = [
  AlertEventRow,
  InboxMessage,
  JobLease,
  IdempotencyKey,
  OutboxMessage,
  ScheduleRun,
  SealFormatRow,
  SchemaEpoch,
  ServiceInstance,
];

@Global()
@Module({
  providers: [{ provide: Config, useFactory: () => new Config() }],
  exports: [Config],
})
class ConfigModule {}

const SHARED = [
  ArrivingBodies,
  BackgroundJobs,
  BodyMemory,
  CatalogueCheck,
  Clock,
  GracefulShutdown,
  Cursors,
  EventBus,
  Inbox,
  HealthIndicators,
  InstanceHeartbeat,
  InstanceRepository,
  JobLeases,
  IdempotencyKeys,
  Metrics,
  RowRetention,
  Outbox,
  ServiceCryptoAssets,
  RateLimits,
  ReadReplica,
  ReplicationWatch,
  ScheduledRuns,
  ScheduleTargets,
  Resealer,
  Seal,
  RowSealEpoch,
  RowSealHealth,
  RowSealKeeper,
  RowSeals,
  SealedColumns,
  SealFormat,
];

/** PlatformModule provides the services that every other module uses. */
@Global()
@Module({
  imports: [
    ConfigModule,
    DiscoveryModule,
    TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        ...dataSourceOptions(config),
        autoLoadEntities: true,
        retryAttempts: 30,
        retryDelay: 1000,
        verboseRetryLog: true,
      }),
      dataSourceFactory: (options) => Promise.resolve(new ServiceDataSource(options as PostgresOptions)),
    }),
    TypeOrmModule.forFeature(ENTITIES),
  ],
  providers: [
    ...SHARED,
    BackgroundDiscovery,
    DatabaseSessions,
    DueJobs,
    InstanceIndicators,
    OldIdempotencyKeys,
    SealedColumnsHealth,
    TracingEnd,
    { provide: OutboundClient, inject: [Config], useFactory: (config: Config) => new OutboundClient(config) },
  ],
  exports: [...SHARED, OutboundClient],
})
export class PlatformModule {}

/** Background module of the platform: re-encrypts sealed columns after a change of the secret. */
@Module({ providers: [ResealerJobs] })
export class PlatformWorkerModule {}
