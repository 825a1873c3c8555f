import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/entries/audit.service.js';
import { WebhookDeliveryRepository } from '../../platform/outbound/webhook-delivery.repository.js';

const SENDER = { kind: 'system', id: 'webhook-sender', name: 'webhook sender' } as const;

/** Tells the log of endpoints that nobody disabled but their receiver: whoever misses messages finds out why. */
@Injectable()
export class DisabledWebhooks {
  constructor(repository: WebhookDeliveryRepository, audit: AuditService) {
    repository.whenDisabled((tx, id, reason) =>
      audit.append(tx, [
        {
          action: 'webhook.disabled',
          actor: SENDER,
          target: { kind: 'webhook', id },
          correlation: SENDER.id,
          source: '',
          detail: { reason },
        },
      ]),
    );
  }
}
