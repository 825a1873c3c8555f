import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { OldRows } from './database/old-rows.js';
import { EventBus } from './events/events.js';
import { AlertEventRow } from './events/alert-event.entity.js';
import { AlertEvents } from './events/alert-events.js';
import { InboxMessage } from './inbox/inbox-message.entity.js';
import { Inbox } from './inbox/inbox.js';
import { HealthIndicators } from './health/health-indicators.js';
import { BodyRoom } from './http/body-room.js';
import { ArrivingBodies } from './http/arriving-bodies.js';
import { GracefulShutdown } from './http/graceful-shutdown.js';
import { Cursors } from './http/cursors.js';
import { RateLimits } from './http/rate-limits.js';
import { IdempotencyKey } from './idempotency/idempotency-key.entity.js';
import { IdempotencyKeys } from './idempotency/idempotency-keys.js';
import { IdempotencySchedule } from './idempotency/idempotency.schedule.js';
import { MailMessage } from './mail/mail-message.entity.js';
import { MailHealth } from './mail/mail-health.js';
import { MailTrial } from './mail/mail-trial.js';
import { Mailbox } from './mail/mailbox.js';
import { Metrics } from './metrics/metrics.js';
import { OutboundClient } from './outbound/outbound-client.js';
import { WebhookDelivery } from './outbound/webhook-delivery.entity.js';
import { WebhookEndpoint } from './outbound/webhook-endpoint.entity.js';
import { WebhookOldSecret } from './outbound/webhook-old-secret.entity.js';
import { WebhookSecrets } from './outbound/webhook-secrets.js';
import { Webhooks } from './outbound/webhooks.js';
import { OutboxMessage } from './outbox/outbox-message.entity.js';
import { Outbox } from './outbox/outbox.js';
import { ServiceCryptoAssets } from './crypto-assets/service-crypto-assets.js';
import { ScheduleRun } from './schedules/schedule-run.entity.js';
import { ScheduleTargets } from './schedules/schedule-targets.js';
import { ScheduledRuns } from './schedules/scheduled-runs.js';
import { Seal } from './sealing/seal.js';
import { Clock } from './time/clock.js';

const ENTITIES = [
  AlertEventRow,
  InboxMessage,
  IdempotencyKey,
  MailMessage,
  OutboxMessage,
  ScheduleRun,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookOldSecret,
];

/** The floor that every module stands on. */
@Global()
@Module({
  imports: [ConfigModule, DatabaseModule, TypeOrmModule.forFeature(ENTITIES)],
  providers: [
    ArrivingBodies,
    BodyRoom,
    Clock,
    GracefulShutdown,
    Cursors,
    EventBus,
    AlertEvents,
    Inbox,
    HealthIndicators,
    IdempotencyKeys,
    IdempotencySchedule,
    MailHealth,
    Mailbox,
    MailTrial,
    Metrics,
    OldRows,
    { provide: OutboundClient, inject: [Config], useFactory: (config: Config) => new OutboundClient(config) },
    Outbox,
    ServiceCryptoAssets,
    RateLimits,
    ScheduledRuns,
    ScheduleTargets,
    Seal,
    Webhooks,
    WebhookSecrets,
  ],
  exports: [
    ArrivingBodies,
    BodyRoom,
    Clock,
    GracefulShutdown,
    Cursors,
    EventBus,
    AlertEvents,
    Inbox,
    HealthIndicators,
    IdempotencyKeys,
    Mailbox,
    MailTrial,
    Metrics,
    OldRows,
    OutboundClient,
    Outbox,
    ServiceCryptoAssets,
    RateLimits,
    ScheduledRuns,
    ScheduleTargets,
    Seal,
    Webhooks,
    WebhookSecrets,
  ],
})
export class PlatformModule {}
