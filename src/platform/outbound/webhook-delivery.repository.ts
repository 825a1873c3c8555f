import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { OldRows } from '../work/old-rows.js';
import { dueRows } from '../jobs/claim.js';
import type { WebhookAttempt } from './webhook-delivery.entity.js';
import type { WebhookOutcome } from './webhook-outcome.js';

export interface ClaimedDelivery {
  readonly id: string;
  readonly endpointId: string;
  readonly body: string;
  /** Fencing number of the attempt. */
  readonly attempts: number;
  readonly tries: number;
  readonly url: Buffer;
  /** Current signing secrets, the newest first. */
  readonly secrets: Buffer[];
}

/** Maximum number of deliveries per claim, for one endpoint and in total. */
const MAX_PER_ENDPOINT = 8;
const BATCH_SIZE = 200;
const KEPT_DAYS = 30;
/** Due deliveries of the endpoint `e`. Each endpoint has its own limit, so that an endpoint with many messages does not delay others. */
const DUE_OF_ENDPOINT = dueRows({
  table: 'webhook_delivery',
  where: `t.endpoint_id = e.id AND t.status = 'PENDING' AND t.next_try_at <= now()`,
  order: 't.next_try_at',
  limit: MAX_PER_ENDPOINT,
});

/** DUE_DELIVERY selects the enabled endpoints that have a due delivery. */
export const DUE_DELIVERY = `SELECT FROM webhook_endpoint e CROSS JOIN LATERAL (${DUE_OF_ENDPOINT.replace(/FOR UPDATE.*/, '')}) waiting
  WHERE e.enabled`;

/** Called in the transaction that disables an endpoint. */
export type WhenDisabled = (tx: EntityManager, endpoint: string, reason: string) => Promise<void>;

/** WebhookDeliveryRepository claims deliveries and stores their outcome. An attempt without an outcome after a minute is repeated by any process. */
@Injectable()
export class WebhookDeliveryRepository {
  private readonly logger = new Logger(WebhookDeliveryRepository.name);
  private readonly listeners: WhenDisabled[] = [];

  constructor(
    private readonly db: DataSource,
    old: OldRows,
  ) {
    old.forget({ table: 'webhook_delivery', where: `t.status <> 'PENDING'`, since: 'ended_at', days: KEPT_DAYS });
  }

  whenDisabled(listener: WhenDisabled): void {
    this.listeners.push(listener);
  }

  /** Claims due deliveries, a few per endpoint, except for endpoints with a batch in progress in this process. */
  async claim(busy: readonly string[]): Promise<ClaimedDelivery[]> {
    const [claimed]: [ClaimedDelivery[], number] = await this.db.query(
      `WITH due AS MATERIALIZED (
         SELECT waiting.id, e.id AS endpoint, e.url, array_remove(e.secret || ARRAY(
           SELECT o.secret FROM webhook_old_secret o WHERE o.endpoint_id = e.id AND o.until > now() ORDER BY o.id DESC), NULL) AS secrets
         FROM webhook_endpoint e CROSS JOIN LATERAL (${DUE_OF_ENDPOINT}) waiting
         WHERE e.enabled AND NOT e.id = ANY($1::uuid[]) LIMIT ${BATCH_SIZE})
       UPDATE webhook_delivery d
       SET attempts = d.attempts + 1, tries = d.tries + 1, next_try_at = now() + interval '60 seconds'
       FROM due WHERE d.id = due.id
       RETURNING d.id, d.endpoint_id AS "endpointId", d.body, d.attempts, d.tries, due.url, due.secrets`,
      [busy],
    );
    return claimed;
  }

  /** Stores the outcome, unless a newer attempt has started. */
  async settle({ id, attempts }: ClaimedDelivery, outcome: WebhookOutcome, entry: WebhookAttempt): Promise<void> {
    await this.db.query(
      `UPDATE webhook_delivery SET status = $3, next_try_at = now() + make_interval(secs => $4),
         ended_at = CASE WHEN $3 = 'PENDING' THEN NULL ELSE now() END,
         log = (CASE WHEN jsonb_array_length(log) >= 20 THEN log - 0 ELSE log END) || $5::jsonb
       WHERE id = $1 AND attempts = $2 AND status = 'PENDING'`,
      [id, attempts, outcome.status, outcome.pauseSeconds, JSON.stringify([entry])],
    );
  }

  /** Disables an endpoint and discards its pending deliveries. */
  async disable(endpoint: string, reason: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [, affected]: [unknown, number] = await tx.query(
        `UPDATE webhook_endpoint SET enabled = false, disabled_reason = $2, version = version + 1 WHERE id = $1 AND enabled`,
        [endpoint, reason],
      );
      const isNews = affected > 0; // a concurrent response may have disabled it already
      if (isNews) for (const listener of this.listeners) await listener(tx, endpoint, reason);
      await giveUpWaiting(tx, endpoint);
    });
    this.logger.warn(`webhook endpoint ${endpoint} is disabled: ${reason}`);
  }
}

/** giveUpWaiting discards the pending deliveries of an endpoint that no longer receives messages. */
export async function giveUpWaiting(tx: EntityManager, endpoint: string): Promise<void> {
  await tx.query(
    `UPDATE webhook_delivery SET status = 'GIVEN_UP', ended_at = now() WHERE endpoint_id = $1 AND status = 'PENDING'`,
    [endpoint],
  );
}
