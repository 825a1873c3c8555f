import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/database-error.js';
import { Problem } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { OutboundClient } from '../../platform/outbound/outbound-client.js';
import { WebhookEndpoint, type WebhookFormat } from '../../platform/outbound/webhook-endpoint.entity.js';
import { giveUpWaiting } from '../../platform/outbound/webhook-delivery.repository.js';
import { WebhookOldSecret } from '../../platform/outbound/webhook-old-secret.entity.js';
import { WebhookSecrets, newWebhookSecret } from '../../platform/outbound/webhook-secrets.js';
import { keepOldSecret } from './old-secrets.js';

export interface WebhookEndpointOrder {
  readonly name: string;
  readonly url: string;
  readonly format: WebhookFormat;
  readonly events: readonly string[];
}

export interface WebhookEndpointChange extends Partial<Omit<WebhookEndpointOrder, 'format'>> {
  readonly enabled?: boolean;
}

/** Webhook endpoints: who made which, where they lead, and the secrets that sign for them. */
@Injectable()
export class WebhookEndpointsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly client: OutboundClient,
    private readonly secrets: WebhookSecrets,
  ) {}

  /** Creates an endpoint. The answer is the only time that its secret is seen; Slack and Teams have none. */
  async create(
    caller: Caller,
    order: WebhookEndpointOrder,
    use?: IdempotentUse,
  ): Promise<{ row: WebhookEndpoint; secret?: string }> {
    await this.assertTarget(order.url);
    const id = use?.resource ?? newId();
    const secret = order.format === 'standard' ? newWebhookSecret() : undefined;
    const row = await this.write(order.name, async (tx) => {
      if (secret !== undefined) await this.idempotency.assertFirst(tx, use, (made) => `/api/webhooks/${made}`);
      const earlier = secret === undefined ? await this.idempotency.earlier(tx, use) : undefined;
      if (earlier !== undefined) return tx.findOneByOrFail(WebhookEndpoint, { id: earlier });
      await tx.insert(WebhookEndpoint, {
        id,
        name: order.name,
        format: order.format,
        events: [...order.events],
        ...this.target(id, order.url, order.format),
        secret: secret === undefined ? null : this.secrets.closeSecret(id, secret),
      });
      await this.record(tx, caller, 'webhook.created', id, { ...order, url: shownUrl(order.url, order.format) });
      return tx.findOneByOrFail(WebhookEndpoint, { id });
    });
    return { row, ...(secret === undefined ? {} : { secret }) };
  }

  async list(): Promise<WebhookEndpoint[]> {
    return this.db.manager.find(WebhookEndpoint, { order: { name: 'ASC' }, take: 200 });
  }

  async get(id: string): Promise<WebhookEndpoint> {
    const row = await this.db.manager.findOneBy(WebhookEndpoint, { id });
    if (row === null) throw missing();
    return row;
  }

  async change(caller: Caller, id: string, version: number, change: WebhookEndpointChange): Promise<WebhookEndpoint> {
    const { name, url, events, enabled } = change;
    const { format, name: present } = await this.get(id);
    if (url !== undefined) await this.assertTarget(url);
    const next = {
      ...(name === undefined ? {} : { name }),
      ...(events === undefined ? {} : { events: [...events] }),
      ...(enabled === undefined ? {} : { enabled, disabledReason: null }),
      ...(url === undefined ? {} : this.target(id, url, format)),
    };
    return this.write(name ?? present, async (tx) => {
      const { affected } = await tx.update(WebhookEndpoint, { id, version }, { ...next, version: version + 1 });
      if (affected !== 1) throw staleProblem(`/api/webhooks/${id}`);
      const shown = url === undefined ? {} : { url: shownUrl(url, format) };
      await this.record(tx, caller, 'webhook.changed', id, { ...change, ...shown });
      if (enabled === false) await giveUpWaiting(tx, id);
      return tx.findOneByOrFail(WebhookEndpoint, { id });
    });
  }

  /**
   * Gives the endpoint another secret. The one before signs as well for `overlapHours`, so that the receiver can change over, and so do those
   * before it for as long as was said: the answer with the newest may have been lost. Without an overlap all of them end.
   */
  async rotateSecret(
    caller: Caller,
    id: string,
    overlapHours: number,
  ): Promise<{ row: WebhookEndpoint; secret: string }> {
    const secret = newWebhookSecret();
    const row = await this.db.transaction(async (tx) => {
      const before = await tx.findOne(WebhookEndpoint, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (before === null) throw missing();
      if (before.secret === null)
        throw new Problem('conflict', 'webhook.no-secret', 'Messages to Slack and Teams are not signed.');
      await keepOldSecret(tx, id, before.secret, overlapHours);
      const next = { secret: this.secrets.closeSecret(id, secret), version: before.version + 1 };
      await tx.update(WebhookEndpoint, { id }, next);
      await this.record(tx, caller, 'webhook.secret-rotated', id, { overlapHours });
      return tx.findOneByOrFail(WebhookEndpoint, { id });
    });
    return { row, secret };
  }

  /** Ends an endpoint; what waits for it is given up. The log of what was delivered stays. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.delete(WebhookEndpoint, { id });
      if (affected !== 1) throw missing();
      await tx.delete(WebhookOldSecret, { endpointId: id });
      await giveUpWaiting(tx, id);
      await this.record(tx, caller, 'webhook.removed', id, {});
    });
  }

  private target(id: string, url: string, format: WebhookFormat) {
    return { url: this.secrets.closeUrl(id, url), shownUrl: shownUrl(url, format) };
  }

  /** A friendlier moment to say no; what counts is the check of each connection. */
  private async assertTarget(url: string): Promise<void> {
    const refusal = await this.client.refusalOf(url);
    if (refusal === undefined) return;
    const errors = [{ pointer: '/url', detail: refusal }];
    throw new Problem('refused', 'webhook.target', `This address cannot be called: ${refusal}.`, { errors });
  }

  private write<T>(name: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const taken = () => new Problem('conflict', 'webhook.name', `There is a webhook endpoint named "${name}".`);
    return writeUnique(this.db, work, taken);
  }

  private async record(
    tx: EntityManager,
    caller: Caller,
    action: string,
    id: string,
    detail: Record<string, unknown>,
  ): Promise<void> {
    const target = { kind: 'webhook', id };
    await this.audit.appendBy(tx, caller, { action, target, detail });
  }
}

/** Without what may be a secret: the query, and the path where the address itself is the credential. */
function shownUrl(url: string, format: WebhookFormat): string {
  const { origin, pathname } = new URL(url);
  return format === 'standard' ? `${origin}${pathname}` : origin;
}

function missing(): Problem {
  return new Problem('missing', 'webhook.missing', 'There is no such webhook endpoint.');
}
