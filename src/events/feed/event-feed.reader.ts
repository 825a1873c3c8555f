import { Injectable } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { AuditSeals } from '../../audit/entries/audit-seals.js';
import { entriesAbout, ENTRY_COLUMNS, type EntryRow } from '../../audit/entries/entry-row.js';
import { mayDo } from '../../access/scopes.js';
import { EVENT_CATALOGUE, EVENT_NAMES, type EventName, isDerived } from '../catalogue/event-catalogue.js';
import { type EventViewer, maySee } from './event-viewer.js';
import { ANNOUNCED, loggedEvent, type LoggedEvent, mayBeEvent, openingActionOf } from './logged-event.js';

/** Number of leaves per statement. Reading this many leaves takes a few milliseconds of database time. */
export const MAX_WINDOW_LEAVES = 2000;
/** Number of entries that are verified before yielding to the event loop. */
const SLICE = 250;

const OWN_ONLY = EVENT_NAMES.filter((name) => EVENT_CATALOGUE[name].isOwnOnly);
const OWN_SOURCES = OWN_ONLY.flatMap((name) => EVENT_CATALOGUE[name].sources ?? []);
/**
 * SQL condition that omits the entries `e` about events of other owners, so that only entries for the viewer are transferred and verified. $4 is the ID of
 * the owner, null to omit nothing; $5 contains the IDs of the owner's approver groups. The opening entry is looked up by the target.
 */
const MAY_BE_OWN = `($4::text IS NULL OR CASE
    WHEN e.action = '${ANNOUNCED}' THEN NOT e.detail ->> 'type' = ANY('{${OWN_ONLY.join()}}'::text[])
      OR e.detail ->> 'owner' = $4 OR e.detail -> 'groups' ?| $5::text[]
    WHEN e.action = ANY('{${OWN_SOURCES.map(({ action }) => action).join()}}'::text[]) THEN EXISTS (
      SELECT FROM (SELECT action, detail FROM audit_entry WHERE target_id = e.target_id OFFSET 0) o
      WHERE o.action = ANY('{${OWN_SOURCES.flatMap(({ opening = [] }) => opening).join()}}'::text[]) AND o.detail ->> 'owner' = $4)
    ELSE true END)`;

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

  /**
   * Returns the events of these types in the MAX_WINDOW_LEAVES leaves starting at `start`.
   *
   * @param viewer returns only the events that the viewer may receive
   * @param max may omit events if there are more than `max`
   */
  async window(
    tx: EntityManager,
    start: number,
    types: readonly EventName[],
    { viewer, max = Infinity }: { viewer?: EventViewer; max?: number } = {},
  ): Promise<EventWindow> {
    const [head]: { size: string }[] = await tx.query(`SELECT size FROM log_head`);
    const size = Number(head?.size ?? 0);
    const end = Math.min(size, start + MAX_WINDOW_LEAVES);
    if (end <= start || types.length === 0) return { events: [], end: Math.max(start, end), size };
    // Each leaf is looked up by index. Only leaves of entries that the service wrote have the kind `entry`.
    const rows: FeedRow[] = await tx.query(
      `SELECT l.index, ${ENTRY_COLUMNS}
       FROM (SELECT index, entry_id, kind FROM log_leaf WHERE index >= $1 ORDER BY index LIMIT ${MAX_WINDOW_LEAVES}) l
         CROSS JOIN LATERAL (SELECT * FROM audit_entry WHERE id = l.entry_id OFFSET 0) e
       WHERE l.index < $2 AND l.kind = 'entry' AND e.action = ANY($3::text[]) AND ${MAY_BE_OWN} ORDER BY l.index`,
      [start, end, actionsOf(types), ownerFor(viewer), [...(viewer?.groups ?? [])]],
    );
    const candidates = rows.filter(mayBeEvent);
    const wanted = new Set<string>(types);
    const events: LoggedEvent[] = [];
    for (let from = 0; from < candidates.length && events.length <= max; from += SLICE) {
      const found = await this.eventsIn(tx, candidates.slice(from, from + SLICE));
      events.push(
        ...found.filter((event) => wanted.has(event.type) && (viewer === undefined || maySee(viewer, event))),
      );
      await turn();
    }
    return { events, end, size };
  }

  /** Returns the events of the entries that match their seals. */
  private async eventsIn(tx: EntityManager, rows: readonly FeedRow[]): Promise<LoggedEvent[]> {
    const own = rows.filter((row) => this.seals.verifies(row, row.seal));
    const openings = await this.openingsOf(tx, own);
    return own.flatMap((row) => loggedEvent(row, Number(row.index), openings.get(row.targetId)) ?? []);
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

/** Returns the owner whose events the viewer may receive; null if the viewer may receive events of every owner. */
function ownerFor(viewer: EventViewer | undefined): string | null {
  return viewer === undefined || mayDo(viewer.scopes, 'audit:read') ? null : viewer.ownerId;
}

/** Returns the actions of the audit entries from which events of these types are derived. */
function actionsOf(types: readonly EventName[]): string[] {
  const derived = types.flatMap((type) => (EVENT_CATALOGUE[type].sources ?? []).map(({ action }) => action));
  return [...new Set([...derived, ...(types.every(isDerived) ? [] : [ANNOUNCED])])];
}
