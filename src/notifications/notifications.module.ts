import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MailMessage } from './mail/mail-message.entity.js';
import { MailSender } from './mail/mail-sender.js';
import { MailTrial } from './mail/mail-transport.js';
import { MailHealth, Mailbox } from './mail/mailbox.js';
import { WebhookDelivery } from './webhooks/webhook-delivery.entity.js';
import { WebhookDeliveryRepository } from './webhooks/webhook-delivery.repository.js';
import { WebhookEndpoint, WebhookOldSecret } from './webhooks/webhook-endpoint.entity.js';
import { WebhookSecrets } from './webhooks/webhook-secrets.js';
import { WebhookSender } from './webhooks/webhook-sender.js';
import { Webhooks } from './webhooks/webhooks.js';

/** NotificationsModule queues emails and webhook messages in the caller's transaction. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([MailMessage, WebhookDelivery, WebhookEndpoint, WebhookOldSecret])],
  providers: [MailHealth, MailTrial, Mailbox, WebhookSecrets, Webhooks],
  exports: [MailTrial, Mailbox, WebhookSecrets, Webhooks],
})
export class NotificationsModule {}

/** NotificationsWorkerModule sends queued emails and webhook messages in the background. */
@Module({
  providers: [MailSender, WebhookDeliveryRepository, WebhookSender],
  exports: [WebhookDeliveryRepository],
})
export class NotificationsWorkerModule {}
