import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditSeals } from '../../audit/entries/audit-seals.js';
import { entriesAbout, ENTRY_COLUMNS, type EntryRow } from '../../audit/entries/entry-row.js';
import { EVENT_CATALOGUE, type EventName, isDerived } from '../catalogue/event-catalogue.js';
import { ANNOUNCED, loggedEvent, type LoggedEvent, openingActionOf } from './logged-event.js';

/** Leaves per statement: a few milliseconds of database time. */
export const MAX_WINDOW_LEAVES = 2000;

/** EventWindow is a part of the feed. */
export interface EventWindow {
  readonly events: readonly LoggedEvent[];
  /** Index of the first leaf after the window. */
  readonly end: number;
  /** Number of leaves in the log. */
  readonly size: number;
}

type FeedRow = EntryRow & { readonly index: string };

/** EventFeedReader derives events from the audit log. The feed is in log order, and nothing is stored for events that nobody reads. */
@Injectable()
export class EventFeedReader {
  constructor(private readonly seals: AuditSeals) {}

  /** Returns the events of these types in the MAX_WINDOW_LEAVES leaves starting at `start`. */
  async window(tx: EntityManager, start: number, types: readonly EventName[]): Promise<EventWindow> {
    const [head]: { size: string }[] = await tx.query(`SELECT size FROM log_head`);
    const size = Number(head?.size ?? 0);
    const end = Math.min(size, start + MAX_WINDOW_LEAVES);
    if (end <= start || types.length === 0) return { events: [], end: Math.max(start, end), size };
    // Each leaf is looked up by index. Only leaves of entries that the service wrote have the kind `entry`.
    const rows: FeedRow[] = await tx.query(
      `SELECT l.index, ${ENTRY_COLUMNS}
       FROM (SELECT index, entry_id, kind FROM log_leaf WHERE index >= $1 ORDER BY index LIMIT ${MAX_WINDOW_LEAVES}) l
         CROSS JOIN LATERAL (SELECT * FROM audit_entry WHERE id = l.entry_id OFFSET 0) e
       WHERE l.index < $2 AND l.kind = 'entry' AND e.action = ANY($3::text[]) ORDER BY l.index`,
      [start, end, actionsOf(types)],
    );
    const own = rows.filter((row) => this.seals.verifies(row, row.seal));
    const openings = await this.openingsOf(tx, own);
    const wanted = new Set<string>(types);
    const events = own.flatMap((row) => {
      const event = loggedEvent(row, Number(row.index), openings.get(row.targetId));
      return event !== undefined && wanted.has(event.type) ? [event] : [];
    });
    return { events, end, size };
  }

  /** Returns the first entries about the targets of these entries, by target. */
  private async openingsOf(tx: EntityManager, rows: readonly FeedRow[]): Promise<ReadonlyMap<string, EntryRow>> {
    const byTarget = new Map<string, string>();
    for (const row of rows) {
      const opening = openingActionOf(row);
      if (opening !== undefined) byTarget.set(row.targetId, opening);
    }
    if (byTarget.size === 0) return new Map();
    const found = await entriesAbout(tx, [...byTarget.keys()], [...new Set(byTarget.values())]);
    const own = found.filter((row) => this.seals.verifies(row, row.seal));
    // The newest entry is set first, so that the oldest entry remains.
    return new Map(own.toReversed().map((row) => [row.targetId, row]));
  }
}

/** Returns the actions of the audit entries from which events of these types are derived. */
function actionsOf(types: readonly EventName[]): string[] {
  const derived = types.flatMap((type) => (EVENT_CATALOGUE[type].sources ?? []).map(({ action }) => action));
  return [...new Set([...derived, ...(types.every(isDerived) ? [] : [ANNOUNCED])])];
}
