import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { columns, sharedAdvisoryLock } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { WebhookEndpoint } from './webhook-endpoint.entity.js';
import { webhookBody, type WebhookMessage } from './webhook-message.js';

/**
 * OWNERS_LOCK is the name of the advisory lock on the owners of endpoints. A transaction that queues messages for an owner shares the lock until it commits,
 * so that a new owner can discard all earlier messages.
 */
export const OWNERS_LOCK = 'webhook owners';

export type Receiver = Pick<WebhookEndpoint, 'id' | 'format'>;

/** QueuedMessage is a message for one endpoint. */
export interface QueuedMessage {
  readonly receiver: Receiver;
  readonly message: WebhookMessage;
  /** Subject of the message. Messages about the same subject are delivered in order. */
  readonly subject?: string;
  /** Position of the event in the audit log. */
  readonly position?: number;
}

/** Webhooks queues messages for webhook endpoints, in the caller's transaction. WebhookSender sends the messages. */
@Injectable()
export class Webhooks {
  /** Returns the enabled endpoints with one of these subscriptions, and the enabled endpoints in `others`. Their owners cannot change until the commit. */
  async subscribers(
    tx: EntityManager,
    subscriptions: readonly string[],
    others: readonly string[] = [],
  ): Promise<(Receiver & Pick<WebhookEndpoint, 'givers' | 'ownerId'>)[]> {
    await sharedAdvisoryLock(tx, OWNERS_LOCK);
    return tx.query(
      `SELECT id, format, givers, owner_id AS "ownerId" FROM webhook_endpoint
       WHERE enabled AND (events && $1::text[] OR id = ANY($2::uuid[])) ORDER BY id`,
      [subscriptions, others],
    );
  }

  /** Queues a message for an endpoint regardless of its subscriptions. Returns undefined if the endpoint is disabled or was deleted. */
  async send(tx: EntityManager, endpoint: string, message: WebhookMessage): Promise<string | undefined> {
    const [receiver]: Receiver[] = await tx.query(
      `SELECT id, format FROM webhook_endpoint WHERE enabled AND id = $1::uuid`,
      [endpoint],
    );
    const [id] = await this.queue(tx, receiver === undefined ? [] : [{ receiver, message }]);
    return id;
  }

  /** Queues messages and returns the IDs of the deliveries. */
  async queue(tx: EntityManager, messages: readonly QueuedMessage[]): Promise<string[]> {
    if (messages.length === 0) return [];
    const rows = messages.map(({ receiver: { id: endpoint, format }, message, subject, position }) => ({
      id: newId(),
      endpoint,
      type: message.type,
      body: webhookBody(message, format),
      subject: subject ?? null,
      position: position === undefined ? null : String(position),
    }));
    const { from, values } = columns(rows, {
      id: 'uuid',
      endpoint: 'uuid',
      type: 'text',
      body: 'text',
      subject: 'text',
      position: 'text',
    });
    await tx.query(
      `INSERT INTO webhook_delivery (id, endpoint_id, type, body, subject, position)
       SELECT id, endpoint, type, body, subject, position::bigint FROM ${from}`,
      values,
    );
    return rows.map(({ id }) => id);
  }
}
