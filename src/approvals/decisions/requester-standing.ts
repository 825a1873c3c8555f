import type { EntityManager } from 'typeorm';
import { mayDo, type Scope } from '../../access/scopes.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { rightsOf } from '../../auth/rights/credential-rights.js';
import { rightsOfRun } from '../../auth/workload/workload.repository.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Approval } from '../model/approval.entity.js';
import type { ApprovalKind } from '../subjects/approval-subject.port.js';

/** The scopes of which a requester needs one when the approval is granted. */
const NEEDED: Readonly<Record<ApprovalKind, readonly Scope[]>> = {
  'signing-request': ['sign:digest', 'signing-keys:write'],
  'signing-batch': ['sign:digest'],
  'ssh-certificate': ['ssh-ca:issue', 'ssh-ca:login'],
  'ssh-rotation': ['keys:rotate'],
};

/**
 * lostRequester returns why the requester of an approval could not request it now: a person was disabled or lost the role, or a key or client was
 * revoked. The token of a workload expires long before people vote, so the trust, the issuer and the people behind them are checked instead. Returns
 * undefined if the requester has kept the right, or is none of these, such as a policy.
 */
export async function lostRequester(
  tx: EntityManager,
  { requestedBy, ownerId, requesterName, subjectKind }: Approval,
  rights: RightsHistory,
): Promise<Problem | undefined> {
  const detail = `${requesterName} has lost the right to request this, so it was withdrawn. Somebody with the right can request it again.`;
  const lost = new Problem('refused', 'approval.withdrawn', detail);
  // Checks the log, because the rows may have been restored or deleted in the database.
  if ([requestedBy, ownerId].some((id) => rights.revoked.has(id) || isDisabled(rights, id))) return lost;
  const run = await rightsOfRun(tx, requestedBy);
  const mayAsk = (held: ReadonlySet<Scope> | undefined) =>
    held !== undefined && NEEDED[subjectKind].some((scope) => mayDo(held, scope));
  if (run !== null) return mayAsk(run) ? undefined : lost;
  for (const id of [requestedBy, ownerId]) {
    if (!(await isGiver(tx, id))) continue;
    return mayAsk(await rightsOf(tx, id)) ? undefined : lost;
  }
  return undefined;
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
