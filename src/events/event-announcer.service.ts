import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService } from '../audit/entries/audit.service.js';
import type { WebhookMessage } from '../notifications/webhooks/webhook-message.js';
import { Webhooks } from '../notifications/webhooks/webhooks.js';
import { newId } from '../platform/database/new-id.js';
import { areaOf, EVENT_CATALOGUE, type EventName } from './catalogue/event-catalogue.js';
import { maySee } from './feed/event-viewer.js';
import { ANNOUNCED, type AnnouncedEvent, subjectKey } from './feed/logged-event.js';
import { viewerOf } from './webhooks/webhook-viewer.js';

export interface Announcement extends Omit<WebhookMessage, 'type' | 'id'> {
  readonly type: EventName;
  readonly subject: AnnouncedEvent['subject'];
  /** ID of the subject's owner, for events that only the owner may receive. */
  readonly ownerId?: string;
  /** IDs of the approver groups whose members may also receive the event. */
  readonly groupIds?: readonly string[];
  /** ID of the credential that caused the event, for events that not all credentials of the owner may receive. */
  readonly callerId?: string;
}

const ANNOUNCER = { kind: 'system', id: 'events', name: 'events' } as const;

/**
 * EventAnnouncer records events that no other audit entry records, and queues their messages, in the transaction of the change. The other events are derived
 * from the audit log (EventDispatcher).
 */
@Injectable()
export class EventAnnouncer {
  constructor(
    private readonly audit: AuditService,
    private readonly webhooks: Webhooks,
  ) {}

  /**
   * Records an event, and queues its message for all endpoints that subscribe to the event and may receive it.
   *
   * @param others endpoints that receive the message without a subscription
   * @returns IDs of the deliveries
   */
  async announce(tx: EntityManager, announcement: Announcement, others: readonly string[] = []): Promise<string[]> {
    const { subject, ownerId, groupIds, callerId, ...message } = announcement;
    const { type, at, data } = message;
    const id = newId();
    const detail = {
      type,
      timestamp: at.toISOString(),
      subject,
      owner: ownerId,
      groups: groupIds,
      caller: callerId,
      data,
    };
    await this.audit.append(tx, [
      {
        id,
        action: ANNOUNCED,
        actor: ANNOUNCER,
        target: { kind: 'event', id: type },
        correlation: ANNOUNCER.id,
        detail,
      },
    ]);
    const subscriptions = [type, `${areaOf(type)}.*`, '*'];
    const receivers = await this.webhooks.subscribers(tx, subscriptions, others);
    const permitted = [];
    for (const receiver of receivers) {
      const viewer = await viewerOf(tx, receiver);
      const may =
        viewer === undefined ? receiver.givers === null && EVENT_CATALOGUE[type].needsNoOwner : maySee(viewer, detail);
      if (may) permitted.push(receiver);
    }
    const queued = permitted.map((receiver) => ({
      receiver,
      message: { ...message, id },
      subject: subjectKey(subject),
    }));
    return this.webhooks.queue(tx, queued);
  }
}
