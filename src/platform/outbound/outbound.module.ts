import { Module } from '@nestjs/common';
import { WebhookLedger } from './webhook-ledger.js';
import { WebhookSender } from './webhook-sender.js';

/** Sending, for processes that work in the background; putting messages in line is part of the floor. */
@Module({ providers: [WebhookLedger, WebhookSender], exports: [WebhookLedger] })
export class OutboundModule {}
