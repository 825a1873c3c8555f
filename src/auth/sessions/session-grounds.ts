import type { EntityManager, FindOptionsWhere } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import type { SealedClass, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { trusted } from '../../platform/sealing/sealed-rows.js';
import { IdentityProvider } from '../model/identity-provider.entity.js';
import { OAuthClient } from '../model/oauth.entity.js';
import { User } from '../model/user.entity.js';

/** CHANGED_MEANWHILE is the Problem code for a sign-in whose grounds changed while it was in progress. */
export const CHANGED_MEANWHILE = 'auth.changed-meanwhile';

/** SessionGrounds is what a sign-in verified, as read at that time. */
export interface SessionGrounds {
  readonly userId?: string | undefined;
  /** Hash of the password that was presented, and the second factors that were required. */
  readonly password?: Pick<User, 'passwordHash' | 'factors'> | undefined;
  readonly providerId?: string | undefined;
  /** The client that authenticated. */
  readonly client?: Pick<OAuthClient, 'id' | 'proofSince'> | undefined;
}

/**
 * assertStillGranted verifies that the grounds of a sign-in have not changed since they were read, and locks them until the transaction ends. Changing the
 * password, or disabling the account, provider or client, must also stop a sign-in that is in progress.
 *
 * @throws Problem 401 `auth.changed-meanwhile`
 */
export async function assertStillGranted(
  tx: EntityManager,
  { userId, password, providerId, client }: SessionGrounds,
): Promise<void> {
  if (providerId !== undefined) {
    const provider = await shared(tx, IdentityProvider, { id: providerId });
    if (provider?.enabled !== true) throw changedMeanwhile('The identity provider was disabled');
  }
  if (client !== undefined) {
    const now = await shared(tx, OAuthClient, { id: client.id });
    const isSame = now?.revokedAt === null && now.proofSince?.getTime() === client.proofSince?.getTime();
    if (!isSame) throw changedMeanwhile('The client was revoked, or its secret, keys or certificates were replaced');
  }
  if (userId === undefined) return;
  const user = await shared(tx, User, { id: userId });
  if (user?.disabled !== false) throw changedMeanwhile('The account was disabled');
  if (password !== undefined && !isSamePassword(user, password))
    throw changedMeanwhile('The password or a second factor was changed');
}

function isSamePassword(now: User, then: Pick<User, 'passwordHash' | 'factors'>): boolean {
  return now.passwordHash === then.passwordHash && now.factors?.join() === then.factors?.join();
}

async function shared<Row extends SealedEntity>(
  tx: EntityManager,
  entity: SealedClass<Row>,
  where: FindOptionsWhere<Row>,
): Promise<Row | null> {
  return trusted(tx, entity, await tx.findOne(entity, { where, lock: { mode: 'pessimistic_read' } }));
}

function changedMeanwhile(what: string): Problem {
  return new Problem('unauthenticated', CHANGED_MEANWHILE, `${what} during this sign-in. Sign in again.`);
}
