import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CatalogueCheck } from './catalogue/catalogue-check.js';
import { Config } from './config/config.js';
import { dataSourceOptions } from './database/data-source-options.js';
import { DatabaseSessions } from './database/database-sessions.js';
import { OldRows } from './work/old-rows.js';
import { EventBus } from './events/events.js';
import { AlertEventRow } from './events/alert-events.js';
import { Inbox, InboxMessage } from './inbox/inbox.js';
import { HealthIndicators } from './health/health-indicators.js';
import { BodyMemory } from './http/bodies/body-memory.js';
import { ArrivingBodies } from './http/bodies/arriving-bodies.js';
import { GracefulShutdown } from './http/server/graceful-shutdown.js';
import { Cursors } from './http/cursors.js';
import { RateLimits } from './http/rate-limits.js';
import { IdempotencyKey, IdempotencyKeys, OldIdempotencyKeys } from './idempotency/idempotency-keys.js';
import { MailMessage } from './mail/mail-message.entity.js';
import { MailSender } from './mail/mail-sender.js';
import { MailHealth, Mailbox } from './mail/mailbox.js';
import { MailTrial } from './mail/mail-transport.js';
import { InstanceHeartbeat } from './instances/heartbeat.js';
import { InstanceIndicators } from './instances/instance-indicators.js';
import { InstanceRepository, ServiceInstance } from './instances/instance.repository.js';
import { SchemaEpoch } from './instances/schema-gate.js';
import { JobLease, JobLeases } from './jobs/job-lease.repository.js';
import { Metrics } from './metrics/metrics.js';
import { OutboundClient } from './outbound/outbound-client.js';
import { WebhookDelivery } from './outbound/webhook-delivery.entity.js';
import { WebhookEndpoint, WebhookOldSecret } from './outbound/webhook-endpoint.entity.js';
import { WebhookSecrets } from './outbound/webhook-secrets.js';
import { WebhookDeliveryRepository } from './outbound/webhook-delivery.repository.js';
import { WebhookSender } from './outbound/webhook-sender.js';
import { Webhooks } from './outbound/webhooks.js';
import { OutboxMessage, Outbox } from './outbox/outbox.js';
import { ReadReplica } from './reads/read-replica.js';
import { ReplicationWatch } from './replication/replication-watch.js';
import { ServiceCryptoAssets } from './crypto-assets/service-crypto-assets.js';
import { ScheduleRun } from './schedules/schedule-run.entity.js';
import { ScheduleTargets, ScheduledRuns } from './schedules/schedule-targets.js';
import { Resealer, ResealerJobs } from './sealing/resealer.js';
import { RowSealEpoch } from './sealing/row-seal-epoch.js';
import { RowSealHealth } from './sealing/row-seal-health.js';
import { RowSealKeeper } from './sealing/row-seal-keeper.js';
import { RowSeals } from './sealing/row-seals.js';
import { Seal } from './sealing/seal.js';
import { SealFormatRow, SealFormat } from './sealing/seal-format.js';
import { SealedColumns, SealedColumnsHealth } from './sealing/sealed-columns.js';
import { TracingEnd } from './tracing/tracing.js';
import { Clock } from './time/clock.js';
import { BackgroundDiscovery } from './work/background-discovery.js';
import { BackgroundJobs } from './work/background-jobs.js';
import { DueJobs } from './work/due-jobs.js';

const ENTITIES = [
  AlertEventRow,
  InboxMessage,
  JobLease,
  IdempotencyKey,
  MailMessage,
  OutboxMessage,
  ScheduleRun,
  SealFormatRow,
  SchemaEpoch,
  ServiceInstance,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookOldSecret,
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
  Mailbox,
  MailTrial,
  Metrics,
  OldRows,
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
  Webhooks,
  WebhookSecrets,
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
    }),
    TypeOrmModule.forFeature(ENTITIES),
  ],
  providers: [
    ...SHARED,
    BackgroundDiscovery,
    DatabaseSessions,
    DueJobs,
    InstanceIndicators,
    MailHealth,
    OldIdempotencyKeys,
    SealedColumnsHealth,
    TracingEnd,
    { provide: OutboundClient, inject: [Config], useFactory: (config: Config) => new OutboundClient(config) },
  ],
  exports: [...SHARED, OutboundClient],
})
export class PlatformModule {}

/** Sends mails and webhook messages in background processes. Every process may queue them. */
@Module({
  providers: [MailSender, ResealerJobs, WebhookDeliveryRepository, WebhookSender],
  exports: [WebhookDeliveryRepository],
})
export class PlatformWorkerModule {}
