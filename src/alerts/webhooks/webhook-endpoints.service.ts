import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { DataSource, type EntityManager, LessThanOrEqual } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { newId } from '../../platform/database/new-id.js';
import { advisoryLock } from '../../platform/database/statements.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { assertListed } from '../../platform/database/list-limit.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { OutboundClient } from '../../platform/outbound/outbound-client.js';
import {
  WebhookEndpoint,
  type WebhookFormat,
  WebhookOldSecret,
} from '../../notifications/webhooks/webhook-endpoint.entity.js';
import { giveUpWaiting, WebhookDeliveryRepository } from '../../notifications/webhooks/webhook-delivery.repository.js';
import { WebhookSecrets, newWebhookSecret } from '../../notifications/webhooks/webhook-secrets.js';
import { OWNERS_LOCK } from '../../notifications/webhooks/webhooks.js';
import { EVENT_CATALOGUE, eventsOf, isDerived } from '../../events/catalogue/event-catalogue.js';
import { assertKnownEvents } from '../../events/catalogue/known-events.js';
import { ownerOf } from '../../events/webhooks/webhook-viewer.js';

export interface WebhookEndpointOrder {
  readonly name: string;
  readonly url: string;
  readonly format: WebhookFormat;
  readonly events: readonly string[];
}

export interface WebhookEndpointChange extends Partial<Omit<WebhookEndpointOrder, 'format'>> {
  readonly enabled?: boolean;
}

/** Maximum number of endpoints. The list is not paginated. */
const MAX_ENDPOINTS = 200;

/** Manages webhook endpoints and the secrets that sign their messages. */
@Injectable()
export class WebhookEndpointsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly idempotency: IdempotencyKeys,
    private readonly client: OutboundClient,
    private readonly secrets: WebhookSecrets,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('webhook');
  }

  /** Creates an endpoint and returns its secret, which cannot be retrieved again. Slack and Teams endpoints have no secret. */
  async create(
    caller: Caller,
    order: WebhookEndpointOrder,
    use?: IdempotentUse,
  ): Promise<{ row: WebhookEndpoint; secret?: string }> {
    assertMayReceive(caller, order.events);
    await this.assertTarget(order.url);
    const id = use?.resource ?? newId();
    const secret = order.format === 'standard' ? newWebhookSecret() : undefined;
    const target = await this.target(id, order.url, order.format);
    const sealed = secret === undefined ? null : await this.secrets.closeSecret(id, secret);
    const row = await this.write(order.name, async (tx) => {
      await stillMay(tx, caller);
      if (secret !== undefined) await this.idempotency.assertFirst(tx, use, (made) => `/api/webhooks/${made}`);
      const earlier = secret === undefined ? await this.idempotency.earlier(tx, use) : undefined;
      if (earlier !== undefined) return tx.findOneByOrFail(WebhookEndpoint, { id: earlier });
      await assertListed(tx, WebhookEndpoint, MAX_ENDPOINTS);
      await tx.insert(WebhookEndpoint, {
        id,
        name: order.name,
        format: order.format,
        events: [...order.events],
        ...target,
        ...ownerOf(caller),
        feedPosition: feedPositionOf(order.events),
        secret: sealed,
      });
      await this.record(tx, caller, 'webhook.created', id, { ...order, url: shownUrl(order.url, order.format) });
      return tx.findOneByOrFail(WebhookEndpoint, { id });
    });
    return { row, ...(secret === undefined ? {} : { secret }) };
  }

  async list(): Promise<WebhookEndpoint[]> {
    return this.db.manager.find(WebhookEndpoint, { order: { name: 'ASC' }, take: MAX_ENDPOINTS });
  }

  async get(id: string): Promise<WebhookEndpoint> {
    const row = await this.db.manager.findOneBy(WebhookEndpoint, { id });
    if (row === null) throw missing('webhook');
    return row;
  }

  async change(caller: Caller, id: string, version: number, change: WebhookEndpointChange): Promise<WebhookEndpoint> {
    const { name, url, events, enabled } = change;
    const { format, name: present, ...before } = await this.get(id);
    if (events !== undefined) assertMayReceive(caller, events);
    if (url !== undefined) await this.assertTarget(url);
    const owner = newOwner(before, change, caller);
    const next = {
      ...(name === undefined ? {} : { name }),
      ...(events === undefined ? {} : { events: [...events] }),
      ...(enabled === undefined ? {} : { enabled, disabledReason: null }),
      ...(url === undefined ? {} : await this.target(id, url, format)),
      ...owner,
      ...(followsAnew(before, change) ? { feedPosition: feedPositionOf(events ?? before.events) } : {}),
    };
    return this.write(name ?? present, async (tx) => {
      await stillMay(tx, caller);
      if (owner !== undefined) await advisoryLock(tx, OWNERS_LOCK);
      const { affected } = await tx.update(WebhookEndpoint, { id, version }, { ...next, version: version + 1 });
      if (affected !== 1) throw staleProblem(`/api/webhooks/${id}`);
      const shown = url === undefined ? {} : { url: shownUrl(url, format) };
      await this.record(tx, caller, 'webhook.changed', id, { ...change, ...shown });
      if (enabled === false || owner !== undefined) await giveUpWaiting(tx, id);
      return tx.findOneByOrFail(WebhookEndpoint, { id });
    });
  }

  /**
   * Replaces the endpoint's secret. Messages are also signed with the old secret for `overlapHours`, so that the receiver can switch to the new secret.
   * Earlier secrets stay in use until they expire, because a response with a newer secret may have been lost. Without an overlap, all old secrets expire
   * immediately.
   */
  async rotateSecret(
    caller: Caller,
    id: string,
    overlapHours: number,
  ): Promise<{ row: WebhookEndpoint; secret: string }> {
    const secret = newWebhookSecret();
    const sealed = await this.secrets.closeSecret(id, secret);
    const row = await this.db.transaction(async (tx) => {
      const before = await tx.findOne(WebhookEndpoint, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (before === null) throw missing('webhook');
      if (before.secret === null)
        throw new Problem(
          'conflict',
          'webhook.no-secret',
          'This webhook endpoint has no secret to rotate: messages to Slack and Teams are not signed.',
        );
      await keepOldSecret(tx, id, before.secret, overlapHours);
      const next = { secret: sealed, version: before.version + 1 };
      await tx.update(WebhookEndpoint, { id }, next);
      await this.record(tx, caller, 'webhook.secret-rotated', id, { overlapHours });
      return tx.findOneByOrFail(WebhookEndpoint, { id });
    });
    return { row, secret };
  }

  /** Removes an endpoint and discards its pending deliveries. The delivery log is kept. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.delete(WebhookEndpoint, { id });
      if (affected !== 1) throw missing('webhook');
      await tx.delete(WebhookOldSecret, { endpointId: id });
      await giveUpWaiting(tx, id);
      await this.record(tx, caller, 'webhook.removed', id);
    });
  }

  private async target(id: string, url: string, format: WebhookFormat) {
    return { url: await this.secrets.closeUrl(id, url), shownUrl: shownUrl(url, format) };
  }

  /** Rejects a disallowed or unresolvable URL early. Each connection is checked again. */
  private async assertTarget(url: string): Promise<void> {
    const refusal = await this.client.refusalOf(url);
    if (refusal === undefined) return;
    const errors = [{ pointer: '/url', detail: refusal }];
    throw new Problem('refused', 'webhook.target', `The webhook URL cannot be used: ${refusal}.`, { errors });
  }

  private write<T>(name: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const taken = () => new Problem('conflict', 'webhook.name', `A webhook endpoint named "${name}" already exists.`);
    return writeUnique(this.db, work, taken);
  }
}

/**
 * Validates the subscriptions of a caller who becomes the endpoint's owner.
 *
 * @throws Problem 422 `webhook.event-unknown`; 403 `webhook.event-forbidden` for a subscription with which the endpoint would never receive an event
 */
function assertMayReceive({ scopes }: Caller, events: readonly string[]): void {
  assertKnownEvents(events, '/events');
  const errors = events.flatMap((name, i) => {
    const needed = [...new Set(eventsOf([name]).map((event) => EVENT_CATALOGUE[event].permission))];
    if (needed.some((scope) => mayDo(scopes, scope))) return [];
    return [
      { pointer: `/events/${i}`, detail: `The event "${name}" requires the permission "${needed.join('" or "')}".` },
    ];
  });
  const [first] = errors;
  if (first === undefined) return;
  const detail = `${first.pointer}: ${first.detail} Remove the event, or ask an administrator for the permission.`;
  throw new Problem('forbidden', 'webhook.event-forbidden', detail, { errors });
}

/**
 * Returns the columns that make the caller the owner, if the caller changes the URL or the events, or enables the endpoint. Returns undefined if the owner
 * stays the same.
 */
function newOwner(
  { givers, ownerId }: Pick<WebhookEndpoint, 'givers' | 'ownerId'>,
  { url, events, enabled }: WebhookEndpointChange,
  caller: Caller,
) {
  const owner = ownerOf(caller);
  // Different workloads of the same trust have the same `givers` and an empty `ownerId`, so equal columns do not prove that the workload is the same.
  const isSame = owner.ownerId !== '' && isDeepStrictEqual(owner, { givers, ownerId });
  if (isSame || (events === undefined && url === undefined && enabled !== true)) return undefined;
  return { ...owner, ownedSince: () => 'clock_timestamp()' };
}

/** Reports whether this change makes the endpoint start to follow the audit log. The endpoint does not receive earlier events. */
function followsAnew(
  { events, enabled, givers }: Pick<WebhookEndpoint, 'events' | 'enabled' | 'givers'>,
  change: WebhookEndpointChange,
): boolean {
  const isTakenOver = givers === null && (change.url !== undefined || change.events !== undefined);
  const isEnabled = change.enabled === true && (!enabled || givers === null);
  const isChanged = change.events !== undefined && isFollowing(change.events) !== isFollowing(events);
  return isTakenOver || isEnabled || isChanged;
}

function isFollowing(events: readonly string[]): boolean {
  return eventsOf(events).some(isDerived);
}

/** Returns SQL for the current end of the audit log, or null if none of the events is derived from the log. */
function feedPositionOf(events: readonly string[]): (() => string) | null {
  return isFollowing(events) ? () => '(SELECT size FROM log_head)' : null;
}

/** Returns the URL without secrets: without its query, and without its path if the URL itself is the credential. */
function shownUrl(url: string, format: WebhookFormat): string {
  const { origin, pathname } = new URL(url);
  return format === 'standard' ? `${origin}${pathname}` : origin;
}

/** Maximum number of old secrets. Every message is signed with each old secret. */
const MAX_OLD_SECRETS = 4;
const HOUR_MS = 3_600_000;

/**
 * Keeps the replaced secret, sealed, for `hours` hours. During this time, messages are signed with the replaced secret as well. With 0 hours, all old secrets
 * expire immediately.
 *
 * @throws Problem 409 `webhook.secrets` if there are too many old secrets.
 */
async function keepOldSecret(tx: EntityManager, endpointId: string, secret: Buffer, hours: number): Promise<void> {
  const now = Date.now();
  await tx.delete(
    WebhookOldSecret,
    hours === 0 ? { endpointId } : { endpointId, until: LessThanOrEqual(new Date(now)) },
  );
  if (hours === 0) return;
  const old = await tx.find(WebhookOldSecret, { where: { endpointId }, order: { until: 'ASC' } });
  const [first] = old;
  if (first !== undefined && old.length >= MAX_OLD_SECRETS) {
    const detail = `This endpoint has ${MAX_OLD_SECRETS} old secrets that are still valid, which is the maximum. The first of these secrets expires at ${first.until.toISOString()}. To revoke all of them now, set overlapHours to 0.`;
    throw new Problem('conflict', 'webhook.secrets', detail);
  }
  await tx.insert(WebhookOldSecret, { id: newId(), endpointId, secret, until: new Date(now + hours * HOUR_MS) });
}

const SENDER = { kind: 'system', id: 'webhook-sender', name: 'webhook sender' } as const;

/** Adds audit entries for endpoints that the service disabled because of the receiver's responses, so that users can find out why messages are missing. */
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
