import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { ApprovalsService, type GrantedApproval } from '../../approvals/approvals.service.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { SIGNING_ACTOR } from '../model/signing-jobs.js';
import { SigningEnvelope, SigningRequest } from '../model/signing-request.entity.js';
import { ApprovalRenewal, type Held } from './approval-renewal.js';
import { ApprovalCover } from './approval-cover.js';

/** A claimed request that may have waited for approval. */
export interface MaybeHeld {
  readonly id: string;
  readonly approvalId: string | null;
  /** By the tables of approvals, so that a request cannot be cut loose from its approval by changing its row. */
  readonly hasApproval: boolean;
}

/**
 * The last check before the HSM: whether a request was approved and has not changed since. It runs in the transaction that claims the request, over the same
 * bytes that the attempt will sign; a request that fails the check is not claimed.
 */
@Injectable()
export class ApprovalCheck {
  constructor(
    private readonly approvals: ApprovalsService,
    private readonly audit: AuditService,
    private readonly renewal: ApprovalRenewal,
  ) {}

  /**
   * Returns the requests that may be signed. Requests that their approval does not cover are FAILED; those that need further votes are PENDING_APPROVAL
   * again.
   */
  async cleared<Row extends MaybeHeld>(tx: EntityManager, claimed: readonly Row[]): Promise<Row[]> {
    const held = claimed
      .filter(({ approvalId, hasApproval }) => approvalId !== null || hasApproval)
      .map(({ id }) => id);
    if (held.length === 0) return [...claimed];
    const approvals = await this.approvals.granted(tx, 'signing-request', held);
    const refused = new Set<string>();
    const covered = new Map<GrantedApproval, Held[]>();
    const known = approvals.map((approval) => new ApprovalCover(approval));
    for (const one of await heldOf(tx, held)) {
      const cover = known.find(({ approval }) => approval.id === one.request.approvalId);
      if (cover?.approval.granted === true && cover.holds(one))
        covered.set(cover.approval, [...(covered.get(cover.approval) ?? []), one]);
      else refused.add(await this.fail(tx, one.request));
    }
    for (const [approval, some] of covered)
      for (const id of await this.renewal.renewedOf(tx, approval, some)) refused.add(id);
    return claimed.filter(({ id }) => !refused.has(id));
  }

  private async fail(tx: EntityManager, { id, correlation, approvalId }: SigningRequest): Promise<string> {
    await tx.query(
      `UPDATE signing_request SET status = 'FAILED', attempt = attempt - 1, worker = NULL, lease_until = NULL, finished_at = now(),
         failure_code = 'approval.mismatch', failure_detail = 'The request is not what was approved, or was not approved.'
       WHERE id = $1 AND status = 'PROCESSING'`,
      [id],
    );
    const detail = { from: 'QUEUED', to: 'FAILED', code: 'approval.mismatch', approval: approvalId ?? undefined };
    const target = { kind: 'signing-request', id };
    const entry = {
      action: 'signing.failed',
      outcome: 'failed' as const,
      actor: SIGNING_ACTOR,
      target,
      correlation,
      detail,
    };
    await this.audit.append(tx, [entry]);
    return id;
  }
}

async function heldOf(tx: EntityManager, ids: string[]): Promise<Held[]> {
  const found = await tx.findBy(SigningEnvelope, { requestId: In(ids) });
  const envelopes = new Map(found.map((envelope) => [envelope.requestId, envelope]));
  const requests = await tx.findBy(SigningRequest, { id: In(ids) });
  return requests.map((request) => ({ request, envelope: envelopes.get(request.id) }));
}
