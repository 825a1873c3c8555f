import { Problem } from '../../platform/errors/problem.js';
import type { Caller } from '../../access/caller.js';
import { mayDo, type RoleName, scopesOf } from '../../access/scopes.js';

/** Nobody hands out what they do not hold, and nobody changes people who may do more than they. */
export function assertMayGrant(caller: Caller, roles: readonly RoleName[]): void {
  const beyond = [...scopesOf(roles)].filter((scope) => !mayDo(caller.scopes, scope));
  if (beyond.length === 0) return;
  throw new Problem('forbidden', 'user.beyond-caller', `This takes what you do not hold: ${beyond.join(', ')}.`);
}
