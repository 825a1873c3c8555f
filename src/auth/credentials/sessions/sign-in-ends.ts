import type { EntityManager } from 'typeorm';
import { secretHashOf } from '../../model/secret-text.js';
import { changedMeanwhile } from './session-grounds.js';

/** Number of minutes for which the end of a session is remembered. Sign-in attempts at a provider expire earlier. */
const KEPT_MINUTES = 15;

/** A person, a session, or a session of a person at an identity provider, as named in the logout. */
export interface EndedAtProvider {
  readonly providerId: string;
  readonly subject?: string | undefined;
  readonly session?: string | undefined;
}

/**
 * recordSignInEnds records that sessions ended, in the transaction that ends the sessions. Later, `assertNotEndedSince` rejects the person's sign-ins that
 * began before `at`. These sign-ins cannot be found directly, because the service does not know who is signing in until the provider's response arrives.
 */
export async function recordSignInEnds(tx: EntityManager, ended: readonly EndedAtProvider[], at: Date): Promise<void> {
  const rows = ended.map((one) => ({ providerId: one.providerId, hash: hashOf(one) }));
  await tx.query(
    `INSERT INTO saml_message AS known (provider_id, direction, id_hash, expires_at)
     SELECT DISTINCT item.provider_id, 'ended', item.hash, $3::timestamptz + interval '${KEPT_MINUTES} minutes'
     FROM unnest($1::uuid[], $2::bytea[]) AS item(provider_id, hash) ORDER BY item.hash
     ON CONFLICT (provider_id, direction, id_hash) DO UPDATE SET expires_at = greatest(known.expires_at, excluded.expires_at)`,
    [rows.map(({ providerId }) => providerId), rows.map(({ hash }) => hash), at],
  );
}

/**
 * Asserts that the person's sessions were not ended, in the service or at the provider, since the sign-in began.
 *
 * @throws Problem 401 `auth.changed-meanwhile`
 */
export async function assertNotEndedSince(
  tx: EntityManager,
  { providerId, subject, session }: EndedAtProvider,
  beganAt: Date,
): Promise<void> {
  const names = [{ subject }, ...(session === undefined ? [] : [{ session }, { subject, session }])];
  const found: unknown[] = await tx.query(
    `SELECT 1 FROM saml_message WHERE provider_id = $1 AND direction = 'ended' AND id_hash = ANY($2)
       AND expires_at > $3::timestamptz + interval '${KEPT_MINUTES} minutes' LIMIT 1`,
    [providerId, names.map((name) => hashOf({ providerId, ...name })), beganAt],
  );
  if (found.length > 0) throw changedMeanwhile('Your sessions were ended');
}

function hashOf({ subject, session }: EndedAtProvider): Buffer {
  return secretHashOf(JSON.stringify([subject ?? null, session ?? null]));
}
