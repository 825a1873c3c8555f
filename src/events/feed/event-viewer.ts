import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { includesKey, type KeyPatterns } from '../../access/key-patterns.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { groupsOf } from '../../auth/rights/group-membership.js';
import { EVENT_CATALOGUE } from '../catalogue/event-catalogue.js';
import type { AnnouncedEvent, LoggedEvent } from './logged-event.js';

/** EventViewer is a caller or the owner of a webhook, with its current rights. */
export interface EventViewer extends Pick<Caller, 'scopes' | 'identity'> {
  /** ID of the caller that reads the events or that became the owner of the webhook. */
  readonly callerId: string;
  /** ID of the person whose resources the viewer owns; empty if the viewer owns none. */
  readonly ownerId: string;
  /** Limits of the credentials behind the viewer. The viewer can use the signing keys that all of these credentials include. */
  readonly keys: readonly KeyPatterns[];
  /** IDs of the approver groups to which the person belongs. Empty if the viewer does not need a group to receive events. */
  readonly groups: ReadonlySet<string>;
}

/** viewerFor returns a caller as a viewer of events. */
export async function viewerFor(tx: EntityManager, { id, ownerId, identity, ...caller }: Caller): Promise<EventViewer> {
  const { scopes, keys } = caller;
  const groups = await viewerGroups(tx, scopes, identity === undefined ? ownerId : '');
  return { scopes, ownerId, callerId: id, keys: [keys], groups, ...(identity === undefined ? {} : { identity }) };
}

/** viewerGroups returns the value of `EventViewer.groups` for a person. Callers with `audit:read` receive all approval events, so their groups are not read. */
export async function viewerGroups(
  tx: EntityManager,
  scopes: ReadonlySet<Scope>,
  person: string,
): Promise<ReadonlySet<string>> {
  if (mayDo(scopes, 'audit:read') || !mayDo(scopes, 'approvals:read')) return new Set();
  return groupsOf(tx, person);
}

/** maySee reports whether a viewer may receive an event. Callers with `audit:read` receive the events of every owner, as the lists of these resources do. */
export function maySee(viewer: EventViewer, event: AnnouncedEvent | LoggedEvent): boolean {
  const { permission, isOwnOnly, keyMember } = EVENT_CATALOGUE[event.type];
  if (!mayDo(viewer.scopes, permission)) return false;
  if (keyMember !== undefined && !canUse(viewer, event.data[keyMember])) return false;
  return !isOwnOnly || mayDo(viewer.scopes, 'audit:read') || isParty(viewer, event);
}

/** Reports whether the viewer can use a signing key. A limited viewer cannot use a key without a name. */
function canUse({ keys }: EventViewer, name: unknown): boolean {
  return keys.every((patterns) => patterns == null || (typeof name === 'string' && includesKey(patterns, name)));
}

/** Reports whether the subject of an event belongs to the viewer or to one of the viewer's approver groups. */
function isParty({ scopes, callerId, ownerId, identity, groups }: EventViewer, event: AnnouncedEvent | LoggedEvent) {
  if (event.groups?.some((group) => groups.has(group))) return true;
  if (ownerId === '' || event.owner !== ownerId) return false;
  const { othersNeed } = EVENT_CATALOGUE[event.type];
  if (othersNeed !== undefined && event.caller !== callerId && !mayDo(scopes, othersNeed)) return false;
  if (identity === undefined) return true;
  // A workload owns only the resources of its own runs, because one person can be behind many workloads.
  const { iss, sub } = identity.claims;
  const workload = 'workload' in event ? event.workload : undefined;
  return workload?.trust === identity.trust.name && workload.issuer === iss && workload.subject === sub;
}
