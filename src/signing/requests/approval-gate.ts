import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApprovalsService } from '../../approvals/approvals.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { traced } from '../../platform/observability/tracing.js';
import { shownRequest, useOfRequest } from './shown-request.js';
import type { NewSigningRequest } from './signing-attempt.js';
import { SigningRequestRepository } from './signing-request.repository.js';

/** ApprovalGate decides whether a request needs approval, and records the request, together with the approval if one is needed. */
@Injectable()
export class ApprovalGate {
  constructor(
    private readonly db: DataSource,
    private readonly repository: SigningRequestRepository,
    private readonly approvals: ApprovalsService,
  ) {}

  /** Evaluates the current policies. Returns the request as PENDING_APPROVAL with a requirement, or unchanged. */
  async askPolicies(request: NewSigningRequest): Promise<NewSigningRequest> {
    const { row } = request;
    // A queued request is evaluated again when it is claimed.
    const certainty = row.status === 'QUEUED' ? 'provisional' : 'confirmed';
    const judged = await traced('approval.policies', {}, () =>
      this.approvals.judge('signing-request', useOfRequest(row), certainty),
    );
    const { revision: policies, demand: requirement } = judged;
    const waiting = requirement === undefined ? request : waitingFor(newId(), request);
    return { ...waiting, policies, requirement };
  }

  /**
   * Commits the request. Returns its ID, or the ID of an earlier request with the same Idempotency-Key.
   *
   * @throws Problem `approval.policies-changed`, `signing-key.inactive`, and the Problems of the key's limits
   */
  record(request: NewSigningRequest): Promise<string> {
    const { row, envelope, requirement: demand, caller } = request;
    const { id: subjectId, approvalId } = row;
    if (demand === undefined || approvalId === null) return this.repository.record(request);
    return this.db.transaction(async (tx) => {
      const [id = subjectId] = await this.repository.recordIn(tx, [request]);
      if (id !== subjectId) return id;
      const order = { id: approvalId, kind: 'signing-request' as const, subjectId, demand };
      await this.approvals.request(tx, caller, { ...order, ...shownRequest(row, envelope) });
      return id;
    });
  }

  /** Makes the next `askPolicies` read the policies from the database. */
  forgetPolicies(): void {
    this.approvals.outdated();
  }
}

/** Returns the request as pending for this approval. */
export function waitingFor(approvalId: string, request: NewSigningRequest): NewSigningRequest {
  return { ...request, row: { ...request.row, status: 'PENDING_APPROVAL', approvalId, attempt: 0 } };
}

/**
 * Returns the Problem for callers that cannot wait for approval.
 *
 * @param requestId the waiting request, if there is one
 */
export function needsApproval(requestId?: string): Problem {
  const detail = 'This key requires approval';
  if (requestId === undefined)
    return new Problem('forbidden', 'approval.needed', `${detail}, but this call cannot wait for it.`);
  const instance = `/api/v1/sign/requests/${requestId}`;
  return new Problem('forbidden', 'approval.needed', `${detail}. Request ${instance} is pending.`, { instance });
}
