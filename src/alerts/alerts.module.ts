import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { HsmModule } from '../hsm/hsm.module.js';
import { PlatformWorkerModule } from '../platform/platform.module.js';
import { Alert } from './model/alert.entity.js';
import { AlertsController } from './alerts.controller.js';
import { AlertsReader } from './alerts.reader.js';
import { AlertsService } from './alerts.service.js';
import { AlertIntake } from './intake/alert-intake.js';
import { AlertIntakeSchedule } from './intake/alert-intake.schedule.js';
import { AlertChannels } from './notices/alert-channels.js';
import { AlertNotification } from './notices/alert-notification.entity.js';
import { AlertNotifier } from './notices/alert-notifier.js';
import { AlertRule } from './model/alert-rule.entity.js';
import { AlertRulesController } from './rules/alert-rules.controller.js';
import { AlertRulesService } from './rules/alert-rules.service.js';
import { CertificateWatcher } from './watchers/certificate.watcher.js';
import { HsmWatcher } from './watchers/hsm.watcher.js';
import { DisabledWebhooks } from './webhooks/disabled-webhooks.js';
import { WebhookDeliveriesService } from './webhooks/webhook-deliveries.service.js';
import { WebhookEndpointsService } from './webhooks/webhook-endpoints.service.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

/** Alerts, the rules that open them, and the webhook endpoints that hear of them and of everything else. */
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

/** What makes alerts of what happened and tells people of them, for processes that work in the background. */
@Module({
  imports: [AlertsModule, AuditModule, HsmModule, PlatformWorkerModule],
  providers: [AlertIntake, AlertIntakeSchedule, AlertNotifier, CertificateWatcher, DisabledWebhooks, HsmWatcher],
})
export class AlertsWorkerModule {}
