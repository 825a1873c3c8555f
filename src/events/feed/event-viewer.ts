import type { Caller } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import { EVENT_CATALOGUE } from '../catalogue/event-catalogue.js';
import type { AnnouncedEvent, LoggedEvent } from './logged-event.js';

/** EventViewer is a caller or the owner of a webhook, with its current rights. */
export type EventViewer = Pick<Caller, 'scopes' | 'identity'> & {
  /** ID of the person whose resources the viewer owns; empty if the viewer owns none. */
  readonly ownerId: string;
};

/** maySee reports whether a viewer may receive an event. Callers with `audit:read` receive the events of every owner, as the lists of these resources do. */
export function maySee({ scopes, ownerId, identity }: EventViewer, event: AnnouncedEvent | LoggedEvent): boolean {
  const { permission, isOwnOnly } = EVENT_CATALOGUE[event.type];
  if (!mayDo(scopes, permission)) return false;
  if (!isOwnOnly || mayDo(scopes, 'audit:read')) return true;
  if (ownerId === '' || event.owner !== ownerId) return false;
  if (identity === undefined) return true;
  // A workload owns only the resources of its own runs, because one person can be behind many workloads.
  const { iss, sub } = identity.claims;
  const workload = 'workload' in event ? event.workload : undefined;
  return workload?.trust === identity.trust.name && workload.issuer === iss && workload.subject === sub;
}
