import { Module } from '@nestjs/common';
import { WebhookDeliveryRepository } from './webhook-delivery.repository.js';
import { WebhookSender } from './webhook-sender.js';

/** Sending, for processes that work in the background; putting messages in line is part of the floor. */
@Module({ providers: [WebhookDeliveryRepository, WebhookSender], exports: [WebhookDeliveryRepository] })
export class OutboundModule {}
