import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { assertScope, mayDo } from '../../access/scopes.js';
import { Problem } from '../../platform/errors/problem.js';
import { isId } from '../../platform/database/new-id.js';
import { Cursors, DEFAULT_LIMIT } from '../../platform/http/cursors.js';
import { EVENT_CATALOGUE, EVENT_NAMES, type EventName, eventsOf, isEventName } from '../catalogue/event-catalogue.js';
import { assertKnownEvents } from '../catalogue/known-events.js';
import { EventFeedReader } from './event-feed.reader.js';
import { viewerFor } from './event-viewer.js';
import type { LoggedEvent } from './logged-event.js';

export interface EventPage {
  readonly items: readonly LoggedEvent[];
  /** Position after the last item, or after the last leaf that was read. */
  readonly cursor: string;
  /** Whether the log continues after the cursor. */
  readonly more: boolean;
}

export interface EventQuery {
  /** Subscriptions. */
  readonly types?: readonly string[];
  /** Cursor of a page, ID of an event, or `latest`. */
  readonly after?: string;
  readonly limit?: number;
}

const LIST = 'events';
const LATEST = 'latest';
/** Maximum number of windows per page, so that a page over many leaves without events takes only a fraction of a second. */
const MAX_WINDOWS = 10;

/** EventFeed lists events in the order of the audit log, for clients that catch up after messages were lost or that cannot receive webhooks. */
@Injectable()
export class EventFeed {
  constructor(
    private readonly db: DataSource,
    private readonly reader: EventFeedReader,
    private readonly cursors: Cursors,
  ) {}

  /** Returns the events that the caller may receive after a position. A page can be empty although the log continues. */
  async page(caller: Caller, { types, after, limit = DEFAULT_LIMIT }: EventQuery): Promise<EventPage> {
    const wanted = typesFor(caller, types);
    const { manager } = this.db;
    const viewer = await viewerFor(manager, caller);
    let position = await this.positionAfter(manager, after);
    const items: LoggedEvent[] = [];
    for (let windows = 0; windows < MAX_WINDOWS; windows += 1) {
      const { events, end, size } = await this.reader.window(manager, position, wanted, {
        viewer,
        max: limit - items.length,
      });
      for (const event of events) {
        if (items.length === limit) return { items, cursor: await this.cursorBefore(manager, position), more: true };
        items.push(event);
        position = event.index + 1;
      }
      position = end;
      if (end >= size) return { items, cursor: await this.cursorBefore(manager, end), more: false };
    }
    return { items, cursor: await this.cursorBefore(manager, position), more: true };
  }

  private async positionAfter(tx: EntityManager, after: string | undefined): Promise<number> {
    if (after === undefined) return 0;
    if (after === LATEST) {
      const [head]: { size: string }[] = await tx.query(`SELECT size FROM log_head`);
      return Number(head?.size ?? 0);
    }
    const [id = ''] = isId(after) ? [after] : (this.cursors.read(LIST, after) ?? []);
    if (id === '') return 0;
    const [row]: { index: string | null }[] = await tx.query(
      `SELECT max(index) AS index FROM (SELECT index FROM log_leaf WHERE entry_id = $1::uuid OFFSET 0) l`,
      [id],
    );
    if (row?.index != null) return Number(row.index) + 1;
    const detail =
      'The position is not in the audit log, for example because a backup was restored. Start again without "after".';
    throw new Problem('malformed', 'request.cursor', detail, { errors: [{ pointer: '/after', detail }] });
  }

  /** Returns the cursor for a position. The cursor contains the ID of the preceding entry, so the cursor does not reveal the number of entries. */
  private async cursorBefore(tx: EntityManager, position: number): Promise<string> {
    const [row]: { id: string }[] = await tx.query(`SELECT entry_id AS id FROM log_leaf WHERE index = $1`, [
      position - 1,
    ]);
    return this.cursors.write(LIST, [row?.id ?? '']);
  }
}

/** Returns the requested types that the caller may receive. Throws Problem 403 for a single event that the caller may not receive. */
function typesFor({ scopes }: Caller, types: readonly string[] | undefined): EventName[] {
  if (types !== undefined) assertKnownEvents(types, '/types');
  for (const name of types ?? []) if (isEventName(name)) assertScope(scopes, EVENT_CATALOGUE[name].permission);
  const wanted = types === undefined ? EVENT_NAMES : eventsOf(types);
  return wanted.filter((name) => mayDo(scopes, EVENT_CATALOGUE[name].permission));
}
