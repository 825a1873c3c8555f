import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { WebhookEndpoint } from './webhook-endpoint.entity.js';
import { areaOf } from './webhook-events.js';
import { webhookBody, type WebhookMessage } from './webhook-message.js';

type Receiver = Pick<WebhookEndpoint, 'id' | 'format'>;

/** Webhooks queues messages for webhook endpoints, in the caller's transaction. WebhookSender sends the messages. */
@Injectable()
export class Webhooks {
  /** Queues a message for all endpoints subscribed to its type, and for the endpoints in `others`. Returns the IDs of the deliveries. */
  async announce(tx: EntityManager, message: WebhookMessage, others: readonly string[] = []): Promise<string[]> {
    const receivers: Receiver[] = await tx.query(
      `SELECT id, format FROM webhook_endpoint WHERE enabled AND (events && $1::text[] OR id = ANY($2::uuid[]))`,
      [[message.type, `${areaOf(message.type)}.*`, '*'], others],
    );
    return this.put(tx, receivers, message);
  }

  /** Queues a message for the given endpoints regardless of their subscriptions. Disabled and deleted endpoints are skipped. */
  async send(tx: EntityManager, endpoints: readonly string[], message: WebhookMessage): Promise<string[]> {
    if (endpoints.length === 0) return [];
    const receivers: Receiver[] = await tx.query(
      `SELECT id, format FROM webhook_endpoint WHERE enabled AND id = ANY($1::uuid[])`,
      [endpoints],
    );
    return this.put(tx, receivers, message);
  }

  private async put(tx: EntityManager, receivers: Receiver[], message: WebhookMessage): Promise<string[]> {
    if (receivers.length === 0) return [];
    const rows = receivers.map(({ id: endpoint, format }) => ({
      id: newId(),
      endpoint,
      type: message.type,
      body: webhookBody(message, format),
    }));
    const { from, values } = columns(rows, { id: 'uuid', endpoint: 'uuid', type: 'text', body: 'text' });
    await tx.query(
      `INSERT INTO webhook_delivery (id, endpoint_id, type, body) SELECT id, endpoint, type, body FROM ${from}`,
      values,
    );
    return rows.map(({ id }) => id);
  }
}
