import type { EntityManager } from 'typeorm';
import type { Scope } from '../../access/scopes.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import {
  type CredentialStanding,
  effectiveRights,
  hasKeyOfRun,
  peopleNow,
  peopleOfRun,
  personNow,
  type RunRows,
} from '../rights/effective-rights.js';
import { uploaderOf } from '../rights/secret-disclosures.js';
import { admitTokens } from '../credentials/sessions/session-grounds.js';
import { WorkloadIdentity, WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';
import { SKEW_SECONDS, type VerifiedWorkloadToken } from './workload-token.js';

/** An enabled trust, with the current rights of the people behind its runs. */
export type UsableTrust = WorkloadTrust & { readonly people: CredentialStanding['people'] };

interface TrustRow extends RunRows {
  readonly trust: JsonRow;
  readonly issuer: JsonRow;
}

/** Returns the enabled trusts of an issuer for an audience. */
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

/** holdIssuer reports whether the issuer is enabled and has the given revision, and locks this state until the transaction ends. */
export async function holdIssuer(
  tx: EntityManager,
  { id, revision }: Pick<WorkloadIssuer, 'id' | 'revision'>,
): Promise<boolean> {
  await admitTokens(tx, 'workload issuer', id);
  return (await findTrusted(tx, WorkloadIssuer, { id, revision, enabled: true })) !== null;
}

/** hasSeveralIssuers reports whether more than one issuer is enabled, in which case conditions on claims must name the issuer. */
export async function hasSeveralIssuers(tx: EntityManager): Promise<boolean> {
  const rows: { id: string }[] = await tx.query('SELECT id FROM workload_issuer WHERE enabled LIMIT 2');
  return sealsOf(tx).areSeveral(
    'workload-issuer',
    rows.map(({ id }) => id),
  );
}

/** Returns the current rights of a trust's tokens; undefined if a person behind the trust is disabled or unknown. */
export function rightsNow({ people, scopes }: UsableTrust): ReadonlySet<Scope> | undefined {
  return effectiveRights({ people, limits: [scopes] });
}

interface RunOfTrust extends RunRows {
  readonly run: JsonRow;
  readonly trust: JsonRow | null;
  readonly issuer: JsonRow | null;
}

/**
 * rightsOfRun returns the rights that a run would have now, even if its token has expired. Returns undefined if the run's trust or issuer was deleted or
 * disabled, if a person behind the run is disabled, or if the key that signed the run's token is no longer among the uploaded keys. Returns null if the ID does
 * not belong to a run.
 *
 * @param trustId ID of the run's trust according to the audit log, if known, because the row of a run is not verified
 */
export async function rightsOfRun(
  tx: EntityManager,
  id: string,
  trustId?: string,
): Promise<ReadonlySet<Scope> | undefined | null> {
  const [row]: RunOfTrust[] = await tx.query(
    `SELECT to_jsonb(w) AS run, to_jsonb(t) AS trust, to_jsonb(i) AS issuer, ${personNow('t.owner_id')} AS owner,
       ${peopleNow('t.behind')} AS trust_others, ${peopleNow('i.behind')} AS issuer_others, up.id AS uploader_id, ${personNow(uuidOf('up.id'))} AS uploader
     FROM workload_identity w LEFT JOIN workload_trust t ON t.id = w.trust_id LEFT JOIN workload_issuer i ON i.id = t.issuer_id
     LEFT JOIN LATERAL (SELECT coalesce(i.uploader_id, ${uploaderOf('i')}) AS id) up ON true WHERE w.id = ${uuidOf('$1::text')}`,
    [id],
  );
  if (row === undefined) return null;
  const seals = sealsOf(tx);
  // The seal of a run no longer applies after its session has ended, so the seal is not verified.
  const run = seals.rowText(WorkloadIdentity).decoded(row.run);
  const trust = seals.opened(WorkloadTrust, row.trust);
  const issuer = seals.opened(WorkloadIssuer, row.issuer);
  if (trust?.enabled !== true || issuer?.enabled !== true || (trustId ?? trust.id) !== trust.id) return undefined;
  if (!hasKeyOfRun(issuer, run)) return undefined;
  return effectiveRights({ people: peopleOfRun(seals, trust, issuer, row), limits: [trust.scopes] });
}

/** Records the use of a token in the caller's transaction. Returns false if the token was used before. For concurrent uses, only one call returns true. */
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

/** Deletes the records of tokens that have expired. */
export async function expireTokenUses(tx: EntityManager): Promise<void> {
  await tx.query(`DELETE FROM workload_token_use WHERE expires_at < now()`);
}
