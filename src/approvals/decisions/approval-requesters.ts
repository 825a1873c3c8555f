import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type Caller, principalOf } from '../../access/caller.js';
import { Config } from '../../platform/config/config.js';
import { advisoryLock } from '../../platform/database/statements.js';
import { Problem } from '../../platform/errors/problem.js';

const RETRY_SECONDS = 60;

/** ApprovalRequesters limits the number of a caller's open approvals. */
@Injectable()
export class ApprovalRequesters {
  constructor(private readonly config: Config) {}

  /**
   * Verifies that the caller may open another approval: approvers cannot review arbitrarily long lists, and a hostile request would go unnoticed in a long
   * list. All runs of a workload share the limit, because a job can request any number of tokens. Requests from the same caller are serialized until the
   * transaction ends. Throws Problem `approval.too-many-open`.
   */
  async assertRoom(tx: EntityManager, caller: Pick<Caller, 'id' | 'ownerId' | 'identity'>): Promise<void> {
    const limit = this.config.approvalsOpenPerCaller;
    await advisoryLock(tx, `open approvals of ${principalOf(caller)}`);
    const open = await openApprovals(tx, caller, limit);
    if (open.length < limit) return;
    const detail =
      `You have ${limit} pending approvals, which is the limit. Wait for decisions, withdraw approvals that are no longer ` +
      'needed (POST /api/v1/approvals/{id}/withdraw), or request one approval for many files (POST /api/v1/sign/batch).';
    throw new Problem('overloaded', 'approval.too-many-open', detail, { retryAfter: RETRY_SECONDS });
  }
}

/** Returns up to `limit` pending approvals requested by this caller, or by a run of the same workload. */
async function openApprovals(
  tx: EntityManager,
  { id, ownerId, identity }: Pick<Caller, 'id' | 'ownerId' | 'identity'>,
  limit: number,
): Promise<unknown[]> {
  const direct = `SELECT 1 FROM approval WHERE requested_by = $1 AND status = 'PENDING' LIMIT $2`;
  if (identity === undefined) return tx.query(direct, [id, limit]);
  return tx.query(
    `SELECT 1 FROM approval a WHERE a.status = 'PENDING' AND a.owner_id = $1 AND EXISTS (
       SELECT FROM workload_identity w
       WHERE w.id = CASE WHEN a.requested_by ~ '^[0-9a-f-]{36}$' THEN a.requested_by::uuid END AND w.trust_id = $2 AND w.claims -> 'sub' = $3::jsonb)
     LIMIT $4`,
    [ownerId, identity.trust.id, JSON.stringify(identity.claims['sub']), limit],
  );
}
