import type { EntityManager } from 'typeorm';
import type { Scope } from '../../access/scopes.js';
import { effectiveRights, type PersonNow, personNow } from '../rights/effective-rights.js';
import type { WorkloadTrust } from './workload.entity.js';
import { SKEW_SECONDS, type VerifiedWorkloadToken } from './workload-token.js';

/** A trust that is enabled, with the person behind it as they are now. */
export interface UsableTrust extends Pick<
  WorkloadTrust,
  | 'id'
  | 'name'
  | 'issuerId'
  | 'conditions'
  | 'pullRequests'
  | 'scopes'
  | 'lifeSeconds'
  | 'dpopBound'
  | 'certificateBound'
  | 'revision'
> {
  readonly owner: PersonNow | null;
}

/** The enabled trusts of an issuer for an audience. */
export function trustsOf(tx: EntityManager, issuerId: string, audience: string): Promise<UsableTrust[]> {
  return tx.query(
    `SELECT t.id, t.name, t.issuer_id AS "issuerId", t.conditions, t.pull_requests AS "pullRequests", t.scopes,
       t.life_seconds AS "lifeSeconds", t.dpop_bound AS "dpopBound",
       t.certificate_bound AS "certificateBound", t.revision, ${personNow('t.owner_id')} AS owner
     FROM workload_trust t WHERE t.issuer_id = $1 AND t.audience = $2 AND t.enabled ORDER BY t.name`,
    [issuerId, audience],
  );
}

/** What the tokens of a trust may do now; undefined when the person behind it is disabled or unknown. */
export function rightsNow({ owner, scopes }: UsableTrust): ReadonlySet<Scope> | undefined {
  return effectiveRights({ people: [owner], limits: [scopes] });
}

/** Records in the caller's transaction that a token was used; false if it was used before. Two at once: one of them. */
export async function recordTokenUse(
  tx: EntityManager,
  issuerId: string,
  { useHash, expiresAt }: Pick<VerifiedWorkloadToken, 'useHash' | 'expiresAt'>,
): Promise<boolean> {
  const rows: unknown[] = await tx.query(
    `INSERT INTO workload_token_use (issuer_id, hash, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING hash`,
    [issuerId, useHash, new Date(expiresAt.getTime() + 2 * SKEW_SECONDS * 1000)],
  );
  return rows.length === 1;
}

/** Removes the records of tokens that have expired. */
export async function expireTokenUses(tx: EntityManager): Promise<void> {
  await tx.query(`DELETE FROM workload_token_use WHERE expires_at < now()`);
}
