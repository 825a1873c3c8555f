import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { EventBus } from './events/events.js';
import { Closing } from './http/closing.js';
import { Cursors } from './http/page.js';
import { IdempotencyKey } from './idempotency/idempotency-key.entity.js';
import { IdempotencyKeys } from './idempotency/idempotency-keys.js';
import { IdempotencySchedule } from './idempotency/idempotency.schedule.js';
import { Metrics } from './metrics/metrics.js';
import { OutboxMessage } from './outbox/outbox-message.entity.js';
import { Outbox } from './outbox/outbox.js';
import { Clock } from './time/clock.js';

/** The floor that every module stands on. */
@Global()
@Module({
  imports: [ConfigModule, DatabaseModule, TypeOrmModule.forFeature([IdempotencyKey, OutboxMessage])],
  providers: [Clock, Closing, Cursors, EventBus, IdempotencyKeys, IdempotencySchedule, Metrics, Outbox],
  exports: [Clock, Closing, Cursors, EventBus, IdempotencyKeys, Metrics, Outbox],
})
export class PlatformModule {}
