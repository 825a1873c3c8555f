import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { columns } from '../database/statements.js';
import { newId } from '../database/new-id.js';
import { WebhookEndpoint } from './webhook-endpoint.entity.js';
import { areaOf } from './webhook-events.js';
import { webhookBody, type WebhookMessage } from './webhook-message.js';

type Receiver = Pick<WebhookEndpoint, 'id' | 'format'>;

/** Queues messages for webhook endpoints, in the transaction of what they report. WebhookSender sends them. */
@Injectable()
export class Webhooks {
  /** For every endpoint that listens to this type, and for these others. Answers the ids of the deliveries. */
  async announce(tx: EntityManager, message: WebhookMessage, others: readonly string[] = []): Promise<string[]> {
    const receivers: Receiver[] = await tx.query(
      `SELECT id, format FROM webhook_endpoint WHERE enabled AND (events && $1::text[] OR id = ANY($2::uuid[]))`,
      [[message.type, `${areaOf(message.type)}.*`, '*'], others],
    );
    return this.put(tx, receivers, message);
  }

  /** For these endpoints, whatever they listen to; those that are disabled or gone are left out. */
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
