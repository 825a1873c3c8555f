import type { EntityManager } from 'typeorm';
import { type Caller, giversOf, orderedBy } from '../../access/caller.js';
import type { KeyPatterns } from '../../access/key-patterns.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { limitedRightsOf } from '../../auth/rights/credential-rights.js';
import type { WebhookEndpoint } from '../../notifications/webhooks/webhook-endpoint.entity.js';
import { type EventViewer, viewerGroups } from '../feed/event-viewer.js';

type Owned = Pick<WebhookEndpoint, 'givers' | 'ownerId'>;

/** ownerOf returns the columns that make a caller the owner of an endpoint. */
export function ownerOf(caller: Caller): Owned {
  return {
    givers: giversOf(orderedBy(caller, []), caller.ownerId),
    // A workload owns only the resources of its own runs, and an endpoint outlives the runs.
    ownerId: caller.kind === 'workload' ? '' : caller.ownerId,
  };
}

/**
 * viewerOf returns the owner of an endpoint with the owner's current rights: the rights that every person, key and client behind the endpoint has. Returns
 * undefined if a person, key or client behind the endpoint is disabled, revoked or unknown, and for endpoints of earlier versions, which have no owner.
 */
export async function viewerOf(tx: EntityManager, { givers, ownerId }: Owned): Promise<EventViewer | undefined> {
  if (givers === null || givers.length === 0) return undefined;
  const person = ownerId ?? '';
  // A workload is always limited to some signing keys, but the endpoint outlives its trust, which contains the limits.
  const keys: KeyPatterns[] = person === '' ? [[]] : [];
  let common: readonly Scope[] | undefined;
  for (const giver of givers) {
    const held = await limitedRightsOf(tx, giver);
    if (held === undefined) return undefined;
    common = common === undefined ? [...held.scopes] : both(common, held.scopes);
    keys.push(held.keys);
  }
  const scopes = new Set(common);
  return { scopes, ownerId: person, callerId: givers[0] ?? '', keys, groups: await viewerGroups(tx, scopes, person) };
}

/** Returns the scopes in both sets; `admin:*` includes every scope. */
function both(one: readonly Scope[], other: ReadonlySet<Scope>): Scope[] {
  const first = new Set(one);
  return [...one.filter((scope) => mayDo(other, scope)), ...[...other].filter((scope) => mayDo(first, scope))];
}
