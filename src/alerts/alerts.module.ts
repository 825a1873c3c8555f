import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { HsmModule } from '../hsm/hsm.module.js';
import { Alert, AlertNotification } from './model/alert.entity.js';
import { NotificationsWorkerModule } from '../notifications/notifications.module.js';
import { AlertsController } from './alerts.controller.js';
import { AlertsReader } from './alerts.reader.js';
import { AlertsService } from './alerts.service.js';
import { AlertIntake } from './intake/alert-intake.js';
import { AlertChannels } from './notices/alert-channels.js';
import { AlertNotifier } from './notices/alert-notifier.js';
import { AlertRule } from './model/alert-rule.entity.js';
import { AlertRulesController } from './rules/alert-rules.controller.js';
import { AlertRulesService } from './rules/alert-rules.service.js';
import { InventoryCertificateWatcher } from './intake/inventory-certificate.watcher.js';
import { HsmWatcher } from './intake/hsm.watcher.js';
import { DisabledWebhooks, WebhookEndpointsService } from './webhooks/webhook-endpoints.service.js';
import { WebhookDeliveriesService } from './webhooks/webhook-deliveries.service.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

/** AlertsModule manages alerts, alert rules, and the webhook endpoints that receive alerts and other events. */
@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([Alert, AlertNotification, AlertRule])],
  controllers: [AlertRulesController, AlertsController, WebhooksController],
  providers: [
    AlertChannels,
    AlertRulesService,
    AlertsReader,
    AlertsService,
    WebhookDeliveriesService,
    WebhookEndpointsService,
  ],
  exports: [AlertChannels],
})
export class AlertsModule {}

/** Background module: opens alerts and notifies their recipients. */
@Module({
  imports: [AlertsModule, AuditModule, HsmModule, NotificationsWorkerModule],
  providers: [AlertIntake, AlertNotifier, InventoryCertificateWatcher, DisabledWebhooks, HsmWatcher],
})
export class AlertsWorkerModule {}
