import type { EntityManager } from 'typeorm';
import { type Caller, credentialsOf } from '../../access/caller.js';
import { includesKey } from '../../access/key-patterns.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { WorkloadTrust } from '../../auth/model/workload.entity.js';
import { canUseKeys, rightsOf } from '../../auth/rights/credential-rights.js';
import { rightsOfRun } from '../../auth/workload/workload.repository.js';
import { isId, uuidOf } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import type { Approval } from '../model/approval.entity.js';
import type { ApprovalKind } from '../policies/approval-subject.port.js';

/** RequestBasis describes what authorized a request. The pending request is withdrawn once any part of its basis is lost. */
export interface RequestBasis {
  /** The scopes that the call required. */
  readonly scopes: readonly Scope[];
  /** IDs of the users whose rights limited the call. */
  readonly people: readonly string[];
  /** IDs of the API keys and OAuth clients through which the call was made. */
  readonly credentials: readonly string[];
  /** A workload's trust; for a request that needed approval, also the trust's revision and issuer at the time of the request. */
  readonly run?: { readonly trust: string; readonly trustRevision?: number; readonly issuer?: string };
}

/** Requester identifies who made a request, and the kind of request. */
export type Requester = Pick<Approval, 'requestedBy' | 'ownerId' | 'requesterName' | 'subjectKind'>;

/** A requester must have at least one of these scopes for each kind of subject. */
export const REQUEST_SCOPES: Readonly<Record<ApprovalKind, readonly [Scope, ...Scope[]]>> = {
  'signing-request': ['sign:digest', 'signing-keys:write'],
  'signing-batch': ['sign:digest'],
  'ssh-certificate': ['ssh-ca:issue', 'ssh-ca:login'],
  'ssh-rotation': ['keys:rotate'],
};

/** basisOf returns the scopes, users and credentials that authorize the call. */
export async function basisOf(tx: EntityManager, caller: Caller): Promise<RequestBasis> {
  const { ownerId, behind = [], using = [], identity } = caller;
  const people = [...new Set([ownerId, ...behind])].filter(isId);
  const common = { scopes: [...using], people, credentials: credentialsOf(caller) };
  if (identity === undefined) return common;
  const trust = await findTrusted(tx, WorkloadTrust, { id: identity.trust.id });
  // If the trust has just been removed, revision 0 matches no trust.
  const run = { trust: identity.trust.id, trustRevision: trust?.revision ?? 0, issuer: trust?.issuerId ?? '' };
  return { ...common, run };
}

/**
 * lostRequester returns the reason why a request could no longer be made: a person behind the request was disabled or lost the required right, a key or
 * client was revoked or can no longer use a signing key, or the trust or issuer of a workload no longer allows the run. Returns undefined if the basis of the
 * request is still valid.
 *
 * @param basis as logged; undefined for requests of an earlier version
 * @param keys names of the signing keys that the request uses
 */
export async function lostRequester(
  tx: EntityManager,
  requester: Requester,
  rights: RightsHistory,
  basis: RequestBasis | undefined,
  keys: readonly string[],
): Promise<Problem | undefined> {
  const { requestedBy, ownerId, requesterName } = requester;
  const lost = lostRight(requesterName);
  // Checks the log, because the rows may have been restored or deleted outside the service.
  const known = [requestedBy, ownerId, ...(basis?.people ?? []), ...(basis?.credentials ?? [])];
  if (known.some((id) => rights.revoked.has(id) || isDisabled(rights, id))) return lost;
  const asked = basis?.run;
  if (asked !== undefined && isWithdrawn(rights, asked)) return lost;
  const run = await rightsOfRun(tx, requestedBy, asked?.trust);
  for (const id of basis?.credentials ?? []) if (!(await canUseKeys(tx, id, keys))) return lost;
  return (await holds(tx, run, basis, requester, keys)) ? undefined : lost;
}

/** lostRight returns the Problem `approval.withdrawn` for a requester who can no longer make the request. */
export function lostRight(requesterName: string): Problem {
  const detail = `The request was withdrawn, because ${requesterName} no longer has the right to make the request. A user who has this right can submit the request again.`;
  return new Problem('refused', 'approval.withdrawn', detail);
}

async function isHeld(tx: EntityManager, basis: RequestBasis, requester: Requester): Promise<boolean> {
  for (const id of new Set([...basis.people, ...basis.credentials])) {
    const now = await rightsOf(tx, id);
    if (now === undefined || !isEnough(now, basis, requester)) return false;
  }
  return true;
}

function isEnough(
  now: ReadonlySet<Scope> | undefined,
  basis: RequestBasis | undefined,
  { subjectKind }: Requester,
): boolean {
  if (now === undefined) return false;
  const needed = basis?.scopes ?? [];
  if (needed.length === 0) return REQUEST_SCOPES[subjectKind].some((scope) => mayDo(now, scope));
  return needed.every((scope) => mayDo(now, scope));
}

/**
 * Reports whether the trust is unchanged since the request, because a change to a trust also revokes the tokens of its runs. If the revision at the time of the
 * request is unknown, reports whether the trust still allows the signing keys.
 */
async function isTrustSame(tx: EntityManager, run: RequestBasis['run'], keys: readonly string[]): Promise<boolean> {
  if (run === undefined) return true;
  const trust = await findTrusted(tx, WorkloadTrust, { id: run.trust });
  if (run.trustRevision === undefined) return trust !== null && keys.every((name) => includesKey(trust.keys, name));
  return trust?.revision === run.trustRevision && trust.issuerId === run.issuer;
}

/** Reports whether the requester of a request without a basis has one of the scopes for its kind. True for a requester that is not a user, key or client. */
async function mayRequest(tx: EntityManager, { requestedBy, ownerId, subjectKind }: Requester): Promise<boolean> {
  for (const id of [requestedBy, ownerId]) {
    if (!(await isGiver(tx, id))) continue;
    const now = await rightsOf(tx, id);
    return now !== undefined && REQUEST_SCOPES[subjectKind].some((scope) => mayDo(now, scope));
  }
  return true;
}

/** Reports whether the rows still grant the rights that the request required. The row of a run is never deleted while its request is pending. */
async function holds(
  tx: EntityManager,
  run: ReadonlySet<Scope> | undefined | null,
  basis: RequestBasis | undefined,
  requester: Requester,
  keys: readonly string[],
): Promise<boolean> {
  if (run !== null) return isEnough(run, basis, requester) && isTrustSame(tx, basis?.run, keys);
  if (basis === undefined) return mayRequest(tx, requester);
  return basis.run === undefined && isHeld(tx, basis, requester);
}

/** Reports whether, according to the log, the trust or the issuer of a run was removed. */
function isWithdrawn({ withdrawn }: RightsHistory, { trust, issuer }: NonNullable<RequestBasis['run']>): boolean {
  return withdrawn.has(trust) || (issuer !== undefined && withdrawn.has(issuer));
}

function isDisabled({ people }: RightsHistory, id: string): boolean {
  return (people.get(id)?.disabledAt ?? 0) > 0;
}

/** Reports whether the ID belongs to a user, an API key or an OAuth client, including revoked credentials. */
async function isGiver(tx: EntityManager, id: string): Promise<boolean> {
  const given = uuidOf('$1::text');
  const rows: unknown[] = await tx.query(
    `SELECT 1 FROM user_account u WHERE u.id = ${given} UNION ALL SELECT 1 FROM api_key k WHERE k.id = ${given}
     UNION ALL SELECT 1 FROM oauth_client c WHERE c.id = ${given}`,
    [id],
  );
  return rows.length > 0;
}
