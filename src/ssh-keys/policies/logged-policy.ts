import type { EntryRow } from '../../audit/entries/entry-row.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import type { RotationPolicy } from './rotation-policy.entity.js';

type PolicyFacts = Pick<
  RotationPolicy,
  'name' | 'maxAgeDays' | 'keyOwner' | 'mostPerHour' | 'settings' | 'madeBy' | 'ownerId'
>;
type LoggedWrite = Pick<EntryRow, 'action' | 'actorKind' | 'actorId' | 'detail'>;

/** Actions of the log entries with which isAsLogged compares a policy. */
export const POLICY_ACTIONS = [
  'ssh-rotation-policy.created',
  'ssh-rotation-policy.changed',
  'ssh-rotation-policy.removed',
];

/** factsOf returns the detail of the audit entry for a policy that is created or changed. */
export function factsOf({ name, maxAgeDays, keyOwner, mostPerHour, settings, madeBy, ownerId }: PolicyFacts) {
  return { name, maxAgeDays, keyOwner, mostPerHour, settings, madeBy, ownerId };
}

/** isAsLogged reports whether a policy matches its newest entry in POLICY_ACTIONS. If it does not match, the row was modified directly in the database. */
export function isAsLogged(policy: PolicyFacts, newest: LoggedWrite | undefined): boolean {
  if (newest === undefined || newest.action === 'ssh-rotation-policy.removed') return false;
  const { madeBy, ownerId } = policy;
  if (newest.actorKind !== madeBy.kind || newest.actorId !== madeBy.id) return false;
  // Entries written by earlier versions contain only the acting caller.
  const isComplete = newest.detail['madeBy'] !== undefined;
  if (!isComplete && madeBy.kind === 'user' && ownerId !== madeBy.id) return false;
  const { madeBy: loggedAuthor, ownerId: loggedOwner, client: _session, ...order } = newest.detail;
  const logged = isComplete ? { ...order, madeBy: loggedAuthor, ownerId: loggedOwner } : { ...order, madeBy, ownerId };
  return canonicalJson(factsOf(policy)) === canonicalJson(logged);
}
