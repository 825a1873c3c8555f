import type { EntityManager } from 'typeorm';
import { type Caller, giversOf, orderedBy } from '../../access/caller.js';
import { assertScope, mayDo, type Scope } from '../../access/scopes.js';
import { Problem } from '../../platform/errors/problem.js';
import { trusted } from '../../platform/sealing/sealed-rows.js';
import { admitsSession, OAuthClient } from '../model/oauth.entity.js';
import { Session } from '../model/session.entity.js';
import { lockPeople, rightsOf } from './credential-rights.js';

/**
 * stillMay returns the caller with its current rights, and locks the accounts and the session behind the call until the transaction ends. Call stillMay in
 * operations that write after waiting for an external system or the HSM, because the rights checked at the start of the call may have been lost in the
 * meantime.
 *
 * @throws Problem 401 `auth.bad-session`, 403 if a scope that the call requires was lost
 */
export async function stillMay(tx: EntityManager, caller: Caller): Promise<Caller> {
  const givers = giversOf(orderedBy(caller, []), caller.ownerId);
  await lockPeople(tx, givers);
  await assertOpen(tx, caller);
  let scopes: readonly Scope[] = [...caller.scopes];
  for (const id of givers) {
    const held = (await rightsOf(tx, id)) ?? new Set<Scope>();
    scopes = scopes.filter((scope) => mayDo(held, scope));
  }
  const now = { ...caller, scopes: new Set(scopes) };
  for (const scope of caller.using ?? []) assertScope(now.scopes, scope);
  return now;
}

async function assertOpen(tx: EntityManager, { session }: Caller): Promise<void> {
  if (session === undefined) return;
  const lock = { mode: 'pessimistic_read' } as const;
  const now = await tx.findOne(Session, { where: { id: session.id }, lock });
  const isOpen = now !== null && now.endedAt === null && now.expiresAt > new Date();
  if (isOpen && (await isAdmitted(tx, now))) return;
  throw new Problem('unauthenticated', 'auth.bad-session', 'This session has ended. Sign in again.');
}

/** Reports whether the client of a session still admits the session, and locks the client. Returns true for a session without a client. */
async function isAdmitted(tx: EntityManager, session: Session): Promise<boolean> {
  if (session.clientId === null) return true;
  const where = { id: session.clientId };
  const row = await tx.findOne(OAuthClient, { where, lock: { mode: 'pessimistic_read' } });
  const client = trusted(tx, OAuthClient, row);
  return client !== null && admitsSession(client, session);
}
