import type { EntityManager } from 'typeorm';
import { type Caller, credentialsOf } from '../../access/caller.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { WorkloadIssuer, WorkloadTrust } from '../../auth/model/workload.entity.js';
import { rightsOf } from '../../auth/rights/credential-rights.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import type { Approval } from '../model/approval.entity.js';
import type { ApprovalKind } from '../subjects/approval-subject.port.js';

/** What a request was allowed by. When part of it is gone, the request that waits is withdrawn. */
export interface RequestBasis {
  /** The scopes that the call needed. */
  readonly scopes: readonly Scope[];
  /** The people whose rights limited the call. */
  readonly people: readonly string[];
  /** The API keys and OAuth clients through which the call came. */
  readonly credentials: readonly string[];
  /** Of a workload: its trust and issuer, as they were. */
  readonly run?: {
    readonly trust: string;
    readonly trustRevision: number;
    readonly issuer: string;
    readonly issuerRevision: number;
  };
}

/** The scopes of which whoever requests something of a kind holds at least one. */
export const REQUEST_SCOPES: Readonly<Record<ApprovalKind, readonly [Scope, ...Scope[]]>> = {
  'signing-request': ['sign:digest', 'signing-keys:write'],
  'signing-batch': ['sign:digest'],
  'ssh-certificate': ['ssh-ca:issue', 'ssh-ca:login'],
  'ssh-rotation': ['keys:rotate'],
};

/** basisOf returns what allows this call. */
export async function basisOf(tx: EntityManager, caller: Caller): Promise<RequestBasis> {
  const { ownerId, behind = [], using = [], identity } = caller;
  const common = { scopes: [...using], people: [...new Set([ownerId, ...behind])], credentials: credentialsOf(caller) };
  if (identity === undefined) return common;
  const trust = await findTrusted(tx, WorkloadTrust, { id: identity.trust.id });
  const issuer = trust && (await findTrusted(tx, WorkloadIssuer, { id: trust.issuerId }));
  // A trust that was removed at this moment has no revision that will ever be found again.
  const run = {
    trust: identity.trust.id,
    trustRevision: trust?.revision ?? 0,
    issuer: issuer?.id ?? '',
    issuerRevision: issuer?.revision ?? 0,
  };
  return { ...common, run };
}

/**
 * lostRequester returns why an approval could not be requested now: a person behind it was disabled or lost the right that the call needed, a key or
 * client was revoked, or the trust or issuer of a workload was changed, disabled or removed.
 *
 * @param basis as it was logged; undefined for requests of an earlier version
 */
export async function lostRequester(
  tx: EntityManager,
  approval: Approval,
  rights: RightsHistory,
  basis: RequestBasis | undefined,
): Promise<Problem | undefined> {
  const { requestedBy, ownerId, requesterName } = approval;
  const lost = lostRight(requesterName);
  // By the log: their rows may have been put back, or deleted.
  const known = [requestedBy, ownerId, ...(basis?.people ?? []), ...(basis?.credentials ?? [])];
  if (known.some((id) => rights.revoked.has(id) || isDisabled(rights, id))) return lost;
  const holds = basis === undefined ? await mayAsk(tx, approval) : await isBasisHeld(tx, basis, approval.subjectKind);
  return holds ? undefined : lost;
}

export function lostRight(requesterName: string): Problem {
  const detail = `${requesterName} has lost the right to request this, so it was withdrawn. Somebody with the right can request it again.`;
  return new Problem('refused', 'approval.withdrawn', detail);
}

async function isBasisHeld(
  tx: EntityManager,
  { scopes, people, credentials, run }: RequestBasis,
  kind: ApprovalKind,
): Promise<boolean> {
  for (const id of new Set([...people, ...credentials])) {
    const now = await rightsOf(tx, id);
    if (now === undefined || !isEnough(now, scopes, kind)) return false;
  }
  return run === undefined || isRunTrusted(tx, run);
}

function isEnough(now: ReadonlySet<Scope>, scopes: readonly Scope[], kind: ApprovalKind): boolean {
  if (scopes.length === 0) return REQUEST_SCOPES[kind].some((scope) => mayDo(now, scope));
  return scopes.every((scope) => mayDo(now, scope));
}

/** Whether trust and issuer are enabled, and nobody has changed them since. */
async function isRunTrusted(tx: EntityManager, run: NonNullable<RequestBasis['run']>): Promise<boolean> {
  const trust = await findTrusted(tx, WorkloadTrust, { id: run.trust });
  const issuer = trust && (await findTrusted(tx, WorkloadIssuer, { id: trust.issuerId }));
  if (trust?.enabled !== true || issuer?.enabled !== true || issuer.id !== run.issuer) return false;
  return trust.revision === run.trustRevision && issuer.revision === run.issuerRevision;
}

/** Whether the requester of a request without a basis has one of the scopes for its kind. True for a requester that is no person, key or client. */
async function mayAsk(tx: EntityManager, { requestedBy, ownerId, subjectKind }: Approval): Promise<boolean> {
  for (const id of [requestedBy, ownerId]) {
    if (!(await isGiver(tx, id))) continue;
    const now = await rightsOf(tx, id);
    return now !== undefined && REQUEST_SCOPES[subjectKind].some((scope) => mayDo(now, scope));
  }
  return true;
}

function isDisabled({ people }: RightsHistory, id: string): boolean {
  return (people.get(id)?.disabledAt ?? 0) > 0;
}

/** Whether this is the id of a person, an API key or an OAuth client, also of a revoked one. */
async function isGiver(tx: EntityManager, id: string): Promise<boolean> {
  const given = uuidOf('$1::text');
  const rows: unknown[] = await tx.query(
    `SELECT 1 FROM user_account u WHERE u.id = ${given} UNION ALL SELECT 1 FROM api_key k WHERE k.id = ${given}
     UNION ALL SELECT 1 FROM oauth_client c WHERE c.id = ${given}`,
    [id],
  );
  return rows.length > 0;
}
