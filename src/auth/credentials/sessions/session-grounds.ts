import type { EntityManager, FindOptionsWhere } from 'typeorm';
import { advisoryLock, sharedAdvisoryLock } from '../../../platform/database/statements.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { SealedClass, SealedEntity } from '../../../platform/sealing/sealed-entity.js';
import { trusted } from '../../../platform/sealing/sealed-rows.js';
import { IdentityProvider } from '../../model/identity-provider.entity.js';
import { OAuthClient } from '../../model/oauth.entity.js';
import { User } from '../../model/user.entity.js';

/** CHANGED_MEANWHILE is the Problem code for a sign-in whose grounds changed during the sign-in. */
export const CHANGED_MEANWHILE = 'auth.changed-meanwhile';

/** SessionGrounds contains the facts that a sign-in verified, as they were read. */
export interface SessionGrounds {
  readonly userId?: string | undefined;
  /** Hash of the password that was presented, and the second factors that were required. */
  readonly password?: Pick<User, 'passwordHash' | 'factors'> | undefined;
  readonly providerId?: string | undefined;
  /** The version of the provider's configuration that admitted the person; if undefined, any version is accepted. */
  readonly providerVersion?: number | undefined;
  /** The client that authenticated. */
  readonly client?: Pick<OAuthClient, 'id' | 'proofSince'> | undefined;
}

/**
 * assertStillGranted verifies that the grounds for a sign-in have not changed since they were read, and locks the grounds until the transaction ends. Changing
 * the password, or disabling the account, provider or client, must also stop a sign-in that is in progress.
 *
 * @throws Problem 401 `auth.changed-meanwhile`
 */
export async function assertStillGranted(
  tx: EntityManager,
  { userId, password, providerId, providerVersion, client }: SessionGrounds,
): Promise<void> {
  if (providerId !== undefined) await assertSameProvider(tx, providerId, providerVersion);
  if (client !== undefined) await assertSameClient(tx, client);
  if (userId === undefined) return;
  const user = await shared(tx, User, { id: userId });
  if (user?.disabled !== false) throw changedMeanwhile('The account was disabled');
  if (password !== undefined && !isSamePassword(user, password))
    throw changedMeanwhile('The password or a second factor was changed');
}

async function assertSameProvider(tx: EntityManager, id: string, version: number | undefined): Promise<void> {
  const provider = await shared(tx, IdentityProvider, { id });
  if (provider?.enabled !== true) throw changedMeanwhile('The identity provider was disabled');
  if (version !== undefined && provider.version !== version)
    throw changedMeanwhile('The identity provider was changed');
}

async function assertSameClient(
  tx: EntityManager,
  { id, proofSince }: NonNullable<SessionGrounds['client']>,
): Promise<void> {
  await admitTokens(tx, 'oauth client', id);
  const now = await shared(tx, OAuthClient, { id });
  const isSame = now?.revokedAt === null && now.proofSince?.getTime() === proofSince?.getTime();
  if (!isSame) throw changedMeanwhile('The client was revoked, or its secret, keys or certificates were replaced');
}

/**
 * afterSessionsOf returns the time for a change that ends the sessions of a client: the current time, or a later time if necessary to follow the newest session
 * and the last change, because the clock of the process that opened a session may be ahead.
 */
export async function afterSessionsOf(tx: EntityManager, id: string, last: Date | null): Promise<Date> {
  const [row]: { newest: Date | null }[] = await tx.query(
    `SELECT max(created_at) AS newest FROM auth_session WHERE client_id = $1 AND ended_at IS NULL`,
    [id],
  );
  const times = [row?.newest, last].map((time) => (time?.getTime() ?? 0) + 1);
  return new Date(Math.max(Date.now(), ...times));
}

/** The holder of tokens: a client, the runs of an issuer, or the people who sign in at a provider. */
type TokenHolder = 'oauth client' | 'workload issuer' | 'identity provider';

/**
 * lockTokens prevents new tokens for a holder until the transaction ends. A row lock is not sufficient: each token request acquires a shared lock on the row,
 * so a client that requests tokens continuously could prevent its own revocation.
 */
export async function lockTokens(tx: EntityManager, holder: TokenHolder, id: string): Promise<void> {
  await advisoryLock(tx, `${holder} ${id.toLowerCase()}`);
}

/**
 * admitTokens acquires the shared lock that corresponds to `lockTokens`. Acquiring the shared lock waits for transactions that hold the exclusive lock. Later
 * calls to `lockTokens` wait until the transaction that holds the shared lock ends.
 */
export async function admitTokens(tx: EntityManager, holder: TokenHolder, id: string): Promise<void> {
  await sharedAdvisoryLock(tx, `${holder} ${id.toLowerCase()}`);
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

export function changedMeanwhile(what: string): Problem {
  return new Problem('unauthenticated', CHANGED_MEANWHILE, `${what} during this sign-in. Sign in again.`);
}
