import type { EntryRow } from '../../audit/entries/entry-row.js';
import type { AuditOutcome } from '../../audit/entries/audit-entry.entity.js';
import { EVENT_CATALOGUE, type EventName, isEventName, SOURCES_BY_ACTION } from '../catalogue/event-catalogue.js';
import type { EventEntry } from '../catalogue/event-type.js';

/** Action of the audit entries that EventAnnouncer writes. `detail` is an AnnouncedEvent. */
export const ANNOUNCED = 'event.announced';

/** AnnouncedEvent is an event that no other audit entry records. */
export interface AnnouncedEvent {
  readonly type: EventName;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly subject: { readonly kind: string; readonly id: string };
  /** ID of the subject's owner, for events that only the owner may receive. */
  readonly owner?: string;
  /** IDs of the approver groups whose members may also receive the event. */
  readonly groups?: readonly string[];
  /** ID of the credential that caused the event, for types with `othersNeed`. */
  readonly caller?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** LoggedEvent is an event with its position in the audit log. */
export interface LoggedEvent extends AnnouncedEvent {
  /** ID of the audit entry. */
  readonly id: string;
  /** Index of the entry's leaf. Events about the same subject are in this order. */
  readonly index: number;
  /** The workload run behind the subject, as recorded in the audit log. */
  readonly workload?: { readonly trust: unknown; readonly issuer: unknown; readonly subject: unknown };
}

/** entryOf returns the facts of an audit entry from which events are derived. */
function entryOf(row: EntryRow): EventEntry {
  return {
    action: row.action,
    outcome: row.outcome as AuditOutcome,
    actor: { kind: row.actorKind, id: row.actorId, name: row.actorName },
    target: { kind: row.targetKind, id: row.targetId },
    source: row.source,
    detail: row.detail,
  };
}

/** mayBeEvent reports whether an entry, which may not be verified yet, has the action and the facts of an event. */
export function mayBeEvent(row: EntryRow): boolean {
  // An entry that was inserted with SQL can have any JSON value as its detail.
  return row.action === ANNOUNCED || (row.detail instanceof Object && sourceOf(entryOf(row)) !== undefined);
}

/** openingActionOf returns the action of the first entry about the same target, which the event of this entry requires; undefined if there is none. */
export function openingActionOf(row: EntryRow): string | undefined {
  return sourceOf(entryOf(row))?.opening;
}

/** loggedEvent returns the event of an audit entry; undefined if the entry is not an event. Both rows must be verified against their seals. */
export function loggedEvent(row: EntryRow, index: number, openingRow: EntryRow | undefined): LoggedEvent | undefined {
  const entry = entryOf(row);
  const common = { id: row.id, index };
  if (entry.action === ANNOUNCED) {
    const announced = entry.detail as unknown as AnnouncedEvent;
    return isEventName(announced.type) ? { ...announced, ...common } : undefined;
  }
  const source = sourceOf(entry);
  if (source === undefined) return undefined;
  const opening = openingRow && entryOf(openingRow);
  const { owner, trust, issuer, subject } = opening?.detail ?? {};
  return {
    ...common,
    type: source.name,
    timestamp: new Date(row.at).toISOString(),
    subject: entry.target,
    ...(EVENT_CATALOGUE[source.name].isOwnOnly && typeof owner === 'string' ? { owner } : {}),
    ...(trust === undefined ? {} : { workload: { trust, issuer, subject } }),
    data: source.data(entry, opening),
  };
}

function sourceOf(entry: EventEntry) {
  return SOURCES_BY_ACTION.get(entry.action)?.find(({ when }) => when?.(entry) ?? true);
}

/** subjectKey returns the key of an event's subject. An endpoint's deliveries with the same key are sent in order. */
export function subjectKey({ kind, id }: AnnouncedEvent['subject']): string {
  return `${kind}:${id}`;
}
