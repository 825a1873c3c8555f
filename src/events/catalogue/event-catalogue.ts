import type { EventSource, EventType } from './event-type.js';
import { ALERT_EVENTS, APPROVAL_EVENTS } from './notice.event-types.js';
import {
  HOST_EVENTS,
  INVENTORY_EVENTS,
  ROTATION_EVENTS,
  SCAN_EVENTS,
  SENSOR_EVENTS,
  SIGN_IN_EVENTS,
} from './operations.event-types.js';
import { SIGNING_KEY_EVENTS, SIGNING_REQUEST_EVENTS } from './signing.event-types.js';

/**
 * EVENTS is the catalogue of events, by name. Subscriptions are validated against the catalogue. It is published in the OpenAPI document, by `GET
 * /api/v1/event-types`, in the console and in docs/events.md.
 */
const EVENTS = {
  ...SIGNING_REQUEST_EVENTS,
  ...SIGNING_KEY_EVENTS,
  ...INVENTORY_EVENTS,
  ...SCAN_EVENTS,
  ...ROTATION_EVENTS,
  ...APPROVAL_EVENTS,
  ...ALERT_EVENTS,
  ...SENSOR_EVENTS,
  ...HOST_EVENTS,
  ...SIGN_IN_EVENTS,
} satisfies Record<string, EventType>;

export type EventName = keyof typeof EVENTS;
export const EVENT_CATALOGUE: Readonly<Record<EventName, EventType>> = EVENTS;
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

/** EVENT_SUBSCRIPTIONS lists every valid subscription: all events, all events of an area, or a single event. */
export const EVENT_SUBSCRIPTIONS: readonly string[] = [
  '*',
  ...new Set(EVENT_NAMES.map((name) => `${areaOf(name)}.*`)),
  ...EVENT_NAMES,
];

/** areaOf returns the area of an event, such as `alert` for `alert.opened`. */
export function areaOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

/** withoutEffect returns the subscriptions that match no event. */
export function withoutEffect(subscriptions: readonly string[]): string[] {
  return subscriptions.filter((name) => !EVENT_SUBSCRIPTIONS.includes(name));
}

/** eventsOf returns the names that match a list of subscriptions. */
export function eventsOf(subscriptions: readonly string[]): EventName[] {
  const wanted = new Set(subscriptions);
  return EVENT_NAMES.filter((name) => wanted.has('*') || wanted.has(name) || wanted.has(`${areaOf(name)}.*`));
}

/** isDerived reports whether events of this type are derived from other audit entries. All other events have separate entries (EventAnnouncer). */
export function isDerived(name: EventName): boolean {
  return EVENT_CATALOGUE[name].sources !== undefined;
}

export function isEventName(name: unknown): name is EventName {
  return typeof name === 'string' && Object.hasOwn(EVENTS, name);
}

/** SOURCES_BY_ACTION contains the sources of derived events by the action of their audit entries. */
export const SOURCES_BY_ACTION: ReadonlyMap<string, readonly (EventSource & { readonly name: EventName })[]> =
  Map.groupBy(
    EVENT_NAMES.flatMap((name) => (EVENT_CATALOGUE[name].sources ?? []).map((source) => ({ ...source, name }))),
    ({ action }) => action,
  );
