import { Global, Module } from '@nestjs/common';
import { NotificationsWorkerModule } from '../notifications/notifications.module.js';
import { EventAnnouncer } from './event-announcer.service.js';
import { EventsController } from './events.controller.js';
import { EventFeedReader } from './feed/event-feed.reader.js';
import { EventFeed } from './feed/event-feed.service.js';
import { EventDispatcher } from './webhooks/event-dispatcher.js';
import { WebhookOwners } from './webhooks/webhook-owners.js';

/** EventsModule contains the catalogue of events and the feed, and records events. */
@Global()
@Module({
  controllers: [EventsController],
  providers: [EventAnnouncer, EventFeed, EventFeedReader],
  exports: [EventAnnouncer, EventFeedReader],
})
export class EventsModule {}

/** EventsWorkerModule queues webhook messages for the events in the audit log, and disables the webhooks of people who have left. */
@Module({
  imports: [EventsModule, NotificationsWorkerModule],
  providers: [EventDispatcher, WebhookOwners],
})
export class EventsWorkerModule {}
