import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import { filteredList } from '../../platform/http/list-filter.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/errors/problem.js';
import { WebhookDelivery, type WebhookDeliveryStatus } from '../../notifications/webhooks/webhook-delivery.entity.js';
import { EVENT_CATALOGUE, type EventName } from '../../events/catalogue/event-catalogue.js';
import { exampleOf } from '../../events/catalogue/event-type.js';
import { WebhookEndpoint } from '../../notifications/webhooks/webhook-endpoint.entity.js';
import { OWNERS_LOCK, Webhooks } from '../../notifications/webhooks/webhooks.js';
import { sharedAdvisoryLock } from '../../platform/database/statements.js';

/** Lists and redelivers webhook messages, and sends test messages. */
@Injectable()
export class WebhookDeliveriesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly webhooks: Webhooks,
  ) {}

  /** Returns the deliveries of an endpoint, newest first. */
  async list(
    endpoint: string,
    { limit, cursor, status }: PageQuery & { status?: WebhookDeliveryStatus },
  ): Promise<Page<WebhookDelivery>> {
    const list = filteredList(`webhook-deliveries ${endpoint}`, { status });
    const select = this.db
      .createQueryBuilder(WebhookDelivery, 'delivery')
      .where('delivery.endpointId = :endpoint', { endpoint });
    if (status !== undefined) select.andWhere('delivery.status = :status', { status });
    return this.cursors.newest(list, select, { limit, cursor });
  }

  /** Sends a test message: an example event or, without a type, a message that contains the caller's name. */
  async test(caller: Caller, endpoint: string, type?: EventName): Promise<WebhookDelivery> {
    return this.db.transaction(async (tx) => {
      const id = await this.webhooks.send(tx, endpoint, {
        type: type ?? 'webhook.test',
        at: new Date(),
        ...(type === undefined ? {} : { isTest: true }),
        data: type === undefined ? { requestedBy: caller.name } : exampleOf(EVENT_CATALOGUE[type].data),
        title: type === undefined ? 'Sealwright: test message' : `Sealwright: test of ${type}`,
        facts: [{ name: 'Why', value: `${caller.name} requested this test. No action is required.` }],
      });
      if (id === undefined) throw disabled();
      return tx.findOneByOrFail(WebhookDelivery, { id });
    });
  }

  /** Requeues a finished delivery with the same ID. Messages for an earlier owner of the endpoint are not sent again. */
  async redeliver(caller: Caller, id: string): Promise<WebhookDelivery> {
    return this.db.transaction(async (tx) => {
      await sharedAdvisoryLock(tx, OWNERS_LOCK);
      const delivery = await tx.findOneBy(WebhookDelivery, { id });
      if (delivery === null) throw new Problem('missing', 'webhook.no-delivery', 'Webhook delivery not found.');
      const [, affected]: [unknown, number] = await tx.query(
        `UPDATE webhook_delivery d SET status = 'PENDING', tries = 0, next_try_at = now(), ended_at = NULL FROM webhook_endpoint e
         WHERE d.id = $1 AND d.status <> 'PENDING' AND e.id = d.endpoint_id AND e.enabled
           AND (e.owned_since IS NULL OR d.created_at >= e.owned_since)`,
        [id],
      );
      if (affected !== 1) {
        if (delivery.status === 'PENDING') throw pending();
        const isEnabled = await tx.existsBy(WebhookEndpoint, { id: delivery.endpointId, enabled: true });
        throw isEnabled ? ofEarlierOwner() : disabled();
      }
      const target = { kind: 'webhook', id: delivery.endpointId };
      const detail = { delivery: id, type: delivery.type };
      await this.audit.appendBy(tx, caller, { action: 'webhook.redelivered', target, detail });
      return tx.findOneByOrFail(WebhookDelivery, { id });
    });
  }
}

function pending(): Problem {
  return new Problem(
    'conflict',
    'webhook.pending',
    'This delivery is still pending. The service retries the delivery automatically.',
  );
}

function ofEarlierOwner(): Problem {
  return new Problem(
    'conflict',
    'webhook.earlier-owner',
    'This message was composed for an earlier owner of the webhook endpoint. List the events instead.',
  );
}

function disabled(): Problem {
  return new Problem(
    'conflict',
    'webhook.disabled',
    'This webhook endpoint is disabled or was deleted. Enable the endpoint, then try again.',
  );
}
