import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { RowRetention } from '../../platform/work/row-retention.js';
import { dueRows } from '../../platform/work/claim.js';
import { type ClaimedRow, WorkQueue } from '../../platform/work/work-queue.js';
import type { WebhookAttempt } from './webhook-delivery.entity.js';
import type { WebhookOutcome } from './webhook-outcome.js';

export interface ClaimedDelivery extends ClaimedRow {
  readonly endpointId: string;
  readonly body: string;
  readonly tries: number;
  readonly url: Buffer;
  /** Current signing secrets, newest first. */
  readonly secrets: Buffer[];
}

/** Maximum number of deliveries per claim, for one endpoint and in total. */
const MAX_PER_ENDPOINT = 8;
const BATCH_SIZE = 200;
const KEPT_DAYS = 30;
const QUEUE = {
  table: 'webhook_delivery',
  attempt: 'attempts',
  dueAt: 'next_try_at',
  open: `status = 'PENDING'`,
  columns: 't.endpoint_id AS "endpointId", t.body, t.tries, due.url, due.secrets',
  begin: 'tries = t.tries + 1',
  leaseSeconds: 60,
};
/**
 * SQL query for the due deliveries of endpoint `e`. Each endpoint has a separate limit, so that an endpoint with many messages does not delay other
 * endpoints. A delivery is due only after all earlier deliveries about the same subject have ended.
 */
const DUE_OF_ENDPOINT = dueRows({
  table: 'webhook_delivery',
  where: `t.endpoint_id = e.id AND t.status = 'PENDING' AND t.next_try_at <= now() AND NOT EXISTS (
    SELECT FROM webhook_delivery b WHERE b.endpoint_id = e.id AND b.subject = t.subject AND b.status = 'PENDING'
      AND (coalesce(b.position, -1), b.id) < (coalesce(t.position, -1), t.id) OFFSET 0)`,
  order: 't.next_try_at',
  limit: MAX_PER_ENDPOINT,
});
/** SQL query for the due deliveries of enabled endpoints, with the current signing secrets. Parameter $1 lists the endpoints to omit. */
const DUE_DELIVERIES = `SELECT waiting.id, e.url, array_remove(e.secret || ARRAY(
    SELECT o.secret FROM webhook_old_secret o WHERE o.endpoint_id = e.id AND o.until > now() ORDER BY o.id DESC), NULL) AS secrets
  FROM webhook_endpoint e CROSS JOIN LATERAL (${DUE_OF_ENDPOINT}) waiting
  WHERE e.enabled AND NOT e.id = ANY($1::uuid[]) LIMIT ${BATCH_SIZE}`;

/** DUE_DELIVERY selects the enabled endpoints that have a due delivery. */
export const DUE_DELIVERY = `SELECT FROM webhook_endpoint e CROSS JOIN LATERAL (${DUE_OF_ENDPOINT.replace(/FOR UPDATE.*/, '')}) waiting
  WHERE e.enabled`;

/** Called in the transaction that disables an endpoint. */
export type WhenDisabled = (tx: EntityManager, endpoint: string, reason: string) => Promise<void>;

/** WebhookDeliveryRepository claims deliveries and stores the outcomes. If no outcome is stored within a minute, any process can repeat the attempt. */
@Injectable()
export class WebhookDeliveryRepository {
  private readonly logger = new Logger(WebhookDeliveryRepository.name);
  private readonly listeners: WhenDisabled[] = [];
  private readonly queue: WorkQueue<ClaimedDelivery>;

  constructor(
    private readonly db: DataSource,
    old: RowRetention,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
    old.forget({ table: 'webhook_delivery', where: `t.status <> 'PENDING'`, since: 'ended_at', days: KEPT_DAYS });
  }

  whenDisabled(listener: WhenDisabled): void {
    this.listeners.push(listener);
  }

  /** Claims due deliveries, at most MAX_PER_ENDPOINT per endpoint. Omits the endpoints in `busy`, for which this process has a batch in progress. */
  claim(busy: readonly string[]): Promise<ClaimedDelivery[]> {
    return this.queue.claimFrom(DUE_DELIVERIES, [busy]);
  }

  /** Stores the outcome, unless a newer attempt has started. */
  async settle(delivery: ClaimedDelivery, outcome: WebhookOutcome, entry: WebhookAttempt): Promise<void> {
    await this.queue.postpone(
      delivery,
      outcome.pauseSeconds,
      `status = $3, ended_at = CASE WHEN $3 = 'PENDING' THEN NULL ELSE now() END,
       log = (CASE WHEN jsonb_array_length(log) >= 20 THEN log - 0 ELSE log END) || $4::jsonb`,
      [outcome.status, JSON.stringify([entry])],
    );
  }

  /** Disables an endpoint and discards its pending deliveries. */
  async disable(endpoint: string, reason: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [, affected]: [unknown, number] = await tx.query(
        `UPDATE webhook_endpoint SET enabled = false, disabled_reason = $2, version = version + 1 WHERE id = $1 AND enabled`,
        [endpoint, reason],
      );
      const isNews = affected > 0; // Another response may already have disabled the endpoint.
      if (isNews) for (const listener of this.listeners) await listener(tx, endpoint, reason);
      await giveUpWaiting(tx, endpoint);
    });
    this.logger.warn(`disabled webhook endpoint ${endpoint}: ${reason}`);
  }
}

/** giveUpWaiting discards the pending deliveries of an endpoint that no longer receives messages. */
export async function giveUpWaiting(tx: EntityManager, endpoint: string): Promise<void> {
  await tx.query(
    `UPDATE webhook_delivery SET status = 'GIVEN_UP', ended_at = now() WHERE endpoint_id = $1 AND status = 'PENDING'`,
    [endpoint],
  );
}
