import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { WebhookFormat } from '../../notifications/webhooks/webhook-endpoint.entity.js';
import { type QueuedMessage, Webhooks } from '../../notifications/webhooks/webhooks.js';
import { Config } from '../../platform/config/config.js';
import { Background } from '../../platform/work/background.js';
import { type EventName, eventsOf, isDerived } from '../catalogue/event-catalogue.js';
import { EventFeedReader, type EventWindow } from '../feed/event-feed.reader.js';
import { type EventViewer, maySee } from '../feed/event-viewer.js';
import { subjectKey } from '../feed/logged-event.js';
import { messageOf } from './event-message.js';
import { viewerOf } from './webhook-viewer.js';

/** Key of the transaction-level advisory lock. Only one process at a time queues messages, to keep their order. */
const LOCK = 0x6576_6e74;
/** Number of pending deliveries at which an endpoint gets no further messages. The events stay in the log and are queued later. */
const MAX_PENDING = 1000;

/**
 * FOLLOWING selects the endpoints that have not received all events of the log. An endpoint that subscribes to no derived event has no position, so the
 * log is not read for that endpoint.
 */
const FOLLOWING = `FROM webhook_endpoint e CROSS JOIN log_head h WHERE e.enabled AND e.feed_position <> h.size`;

interface Follower {
  readonly id: string;
  readonly format: WebhookFormat;
  readonly events: readonly string[];
  readonly givers: string[] | null;
  readonly ownerId: string | null;
  readonly position: string;
  readonly pending: number;
}

/**
 * EventDispatcher queues webhook messages for the events in the audit log. Each endpoint has a position in the log, which is committed together with
 * the messages for all earlier events, so every event is queued exactly once.
 */
@Injectable()
export class EventDispatcher {
  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly feed: EventFeedReader,
    private readonly webhooks: Webhooks,
  ) {}

  /** Queues the messages for a section of the log. @returns whether more of the log can be read now */
  @Background({ name: 'webhook-events', scope: 'process', due: `SELECT ${FOLLOWING}`, wakes: ['webhooks'] })
  async dispatch(): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const [lock]: { mine: boolean }[] = await tx.query(`SELECT pg_try_advisory_xact_lock($1) AS mine`, [LOCK]);
      if (lock?.mine !== true) return false;
      const followers: Follower[] = await tx.query(
        `SELECT e.id, e.format, e.events, e.givers, e.owner_id AS "ownerId", least(e.feed_position, h.size) AS position,
           (SELECT count(*) FROM (SELECT FROM webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING' LIMIT ${MAX_PENDING}) p)::int AS pending
         ${FOLLOWING} ORDER BY e.id FOR NO KEY UPDATE OF e`,
      );
      const ready = followers.filter(({ pending }) => pending < MAX_PENDING);
      let isMore = false;
      for (const [position, group] of Map.groupBy(ready, (follower) => Number(follower.position)))
        isMore = (await this.advance(tx, position, group)) || isMore;
      return isMore;
    });
  }

  /** Queues the messages of endpoints that have the same position, and advances the position. */
  private async advance(tx: EntityManager, position: number, group: readonly Follower[]): Promise<boolean> {
    const wanted = group.map((follower) => ({ follower, names: new Set(eventsOf(follower.events).filter(isDerived)) }));
    const types = [...new Set<EventName>(wanted.flatMap(({ names }) => [...names]))];
    const window = await this.feed.window(tx, position, types);
    const queued: QueuedMessage[] = [];
    for (const { follower, names } of wanted) {
      const viewer = await viewerOf(tx, follower);
      if (viewer !== undefined) queued.push(...this.messagesFor(follower, viewer, names, window));
    }
    await this.webhooks.queue(tx, queued);
    await tx.query(`UPDATE webhook_endpoint SET feed_position = $2 WHERE id = ANY($1::uuid[])`, [
      group.map(({ id }) => id),
      window.end,
    ]);
    return window.end < window.size;
  }

  private messagesFor(
    receiver: Follower,
    viewer: EventViewer,
    names: ReadonlySet<EventName>,
    { events }: EventWindow,
  ): QueuedMessage[] {
    return events
      .filter((event) => names.has(event.type) && maySee(viewer, event))
      .map((event) => ({
        receiver,
        message: messageOf(event, this.config.publicUrl),
        subject: subjectKey(event.subject),
        position: event.index,
      }));
  }
}
