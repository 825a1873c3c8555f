import type { EntityManager } from 'typeorm';
import type { Scope } from '../../access/scopes.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import {
  type CredentialStanding,
  effectiveRights,
  peopleNow,
  peopleOfRun,
  personNow,
  type RunRows,
} from '../rights/effective-rights.js';
import { uploaderOf } from '../rights/secret-disclosures.js';
import { WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';
import { SKEW_SECONDS, type VerifiedWorkloadToken } from './workload-token.js';

/** A trust that is enabled, with the people behind its runs as they are now. */
export type UsableTrust = WorkloadTrust & { readonly people: CredentialStanding['people'] };

interface TrustRow extends RunRows {
  readonly trust: JsonRow;
  readonly issuer: JsonRow;
}

/** The enabled trusts of an issuer for an audience. */
export async function trustsOf(tx: EntityManager, issuerId: string, audience: string): Promise<UsableTrust[]> {
  const rows: TrustRow[] = await tx.query(
    `SELECT to_jsonb(t) AS trust, to_jsonb(i) AS issuer, ${personNow('t.owner_id')} AS owner, ${peopleNow('t.behind')} AS trust_others, ${peopleNow('i.behind')} AS issuer_others, up.id AS uploader_id, ${personNow(uuidOf('up.id'))} AS uploader
     FROM workload_trust t JOIN workload_issuer i ON i.id = t.issuer_id CROSS JOIN LATERAL (SELECT coalesce(i.uploader_id, ${uploaderOf('i')}) AS id) up
     WHERE t.issuer_id = $1 AND t.audience = $2 AND t.enabled ORDER BY t.name`,
    [issuerId, audience],
  );
  const seals = sealsOf(tx);
  return rows.flatMap((row) => {
    const trust = seals.opened(WorkloadTrust, row.trust);
    const issuer = seals.opened(WorkloadIssuer, row.issuer);
    if (issuer?.id !== issuerId || trust?.issuerId !== issuerId || trust.audience !== audience || !trust.enabled)
      return [];
    return [Object.assign(trust, { people: peopleOfRun(seals, trust, issuer, row) })];
  });
}

/** What the tokens of a trust may do now; undefined when a person behind it is disabled or unknown. */
export function rightsNow({ people, scopes }: UsableTrust): ReadonlySet<Scope> | undefined {
  return effectiveRights({ people, limits: [scopes] });
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
