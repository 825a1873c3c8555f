import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { ApprovalsService, type GrantedApproval } from '../../approvals/approvals.service.js';
import { SigningEnvelope, SigningRequest } from '../signing-request.entity.js';
import { ApprovalRenewal, type Held } from './approval-renewal.js';
import { ApprovalCover } from './approval-cover.js';
import { RefusedClaims } from './refused-claims.js';

/** A claimed request that may have been waiting for approval. */
export interface MaybeHeld {
  readonly id: string;
  readonly approvalId: string | null;
  /** Read from the approval tables, so that changing the row of a request cannot detach the request from its approval. */
  readonly hasApproval: boolean;
}

/** A request that passed the check. */
interface Cleared {
  /** IDs of the audit entries about the approval; undefined for a request without approval. */
  readonly approvalEntries?: readonly string[] | undefined;
}

const MISMATCH = {
  code: 'approval.mismatch',
  detail: 'The request differs from the approved request, or was never approved.',
};

/**
 * ApprovalCheck is the last check before the HSM: the request was approved and has not changed since. It runs in the transaction that claims the
 * request, over the same bytes that the attempt will sign. A request that fails the check is not claimed.
 */
@Injectable()
export class ApprovalCheck {
  constructor(
    private readonly approvals: ApprovalsService,
    private readonly refused: RefusedClaims,
    private readonly renewal: ApprovalRenewal,
  ) {}

  /**
   * Returns the requests that may be signed. Requests that are not covered by their approval become FAILED; requests that need further votes become
   * PENDING_APPROVAL again.
   */
  async cleared<Row extends MaybeHeld>(tx: EntityManager, claimed: readonly Row[]): Promise<(Row & Cleared)[]> {
    const held = claimed
      .filter(({ approvalId, hasApproval }) => approvalId !== null || hasApproval)
      .map(({ id }) => id);
    if (held.length === 0) return [...claimed];
    const approvals = await this.approvals.granted(tx, 'signing-request', held);
    const mismatched: SigningRequest[] = [];
    const covered = new Map<GrantedApproval, Held[]>();
    const known = approvals.map((approval) => new ApprovalCover(approval));
    for (const one of await heldOf(tx, held)) {
      const cover = known.find(({ approval }) => approval.id === one.request.approvalId);
      if (cover?.approval.granted === true && cover.holds(one))
        covered.set(cover.approval, [...(covered.get(cover.approval) ?? []), one]);
      else mismatched.push(one.request);
    }
    await this.refused.fail(tx, mismatched, MISMATCH);
    const refused = new Set(mismatched.map(({ id }) => id));
    for (const [approval, some] of covered) {
      // The claim may have been delayed in the database, so the requester and the approvers are checked again.
      const keys = some.map(({ request }) => request.keyName);
      const lost = await this.approvals.lostGround(tx, approval.id, keys);
      const { requests, failure } =
        lost === undefined
          ? await this.renewal.renewedOf(tx, approval, some)
          : { requests: some.map(({ request }) => request), failure: lost };
      for (const { id } of requests) refused.add(id);
      // The other requests of the claim are not affected, because they belong to other callers.
      if (failure !== undefined) await this.refused.fail(tx, requests, { code: failure.code, detail: failure.message });
    }
    const entries = new Map(
      [...covered].flatMap(([approval, some]) => some.map(({ request }) => [request.id, approval.entries])),
    );
    return claimed
      .filter(({ id }) => !refused.has(id))
      .map((row) => ({ ...row, approvalEntries: entries.get(row.id) }));
  }
}

async function heldOf(tx: EntityManager, ids: string[]): Promise<Held[]> {
  const found = await tx.findBy(SigningEnvelope, { requestId: In(ids) });
  const envelopes = new Map(found.map((envelope) => [envelope.requestId, envelope]));
  const requests = await tx.findBy(SigningRequest, { id: In(ids) });
  return requests.map((request) => ({ request, envelope: envelopes.get(request.id) }));
}
