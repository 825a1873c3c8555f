import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApprovalsService, type ApprovalRequirement } from '../../approvals/approvals.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { SigningRequestRepository } from './signing-request.repository.js';
import type { NewSigningRequest, Accepted } from './signing-outcome.js';
import { policyFactsOf, shownRequest } from './shown-request.js';

/** A request as it was let in, which may be held where it asked to be signed at once. */
export interface Admitted extends Accepted {
  readonly acceptance: NewSigningRequest;
}

const ATTEMPTS = 3;

/** Lets requests in: to be signed at once, into the queue, or first to the people whose approval the policies want. */
@Injectable()
export class ApprovalGate {
  constructor(
    private readonly db: DataSource,
    private readonly repository: SigningRequestRepository,
    private readonly approvals: ApprovalsService,
  ) {}

  async admit(acceptance: NewSigningRequest): Promise<Admitted> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.underPolicies(acceptance);
      } catch (error) {
        const isOutdated = error instanceof Problem && error.code === 'approval.policies-changed';
        if (!isOutdated || attempt === ATTEMPTS) throw error;
        this.approvals.outdated();
      }
    }
  }

  /** Something of our own, which is composed by the service and not by a caller: no policy is asked. */
  admitOwn(acceptance: NewSigningRequest): Promise<Accepted> {
    return this.repository.accept(acceptance);
  }

  /** Whether a policy wants people's consent first. The next moment may have another policy: `admit` asks again. */
  async asksPeople(asked: NewSigningRequest): Promise<boolean> {
    const facts = policyFactsOf(asked, asked.caller);
    return (await this.approvals.judge('signing-request', asked.request.keyName, facts)).demand !== undefined;
  }

  private async underPolicies(asked: NewSigningRequest): Promise<Admitted> {
    const facts = policyFactsOf(asked, asked.caller);
    const { revision, demand } = await this.approvals.judge('signing-request', asked.request.keyName, facts);
    const acceptance = { ...asked, policies: revision };
    if (demand !== undefined)
      return this.holdForApproval({ ...acceptance, status: 'PENDING_APPROVAL', approvalId: newId() }, demand);
    return { ...(await this.repository.accept(acceptance)), acceptance };
  }

  /** The request and the question to the approvers are there together, or not at all. */
  private async holdForApproval(
    acceptance: NewSigningRequest & { approvalId: string },
    demand: ApprovalRequirement,
  ): Promise<Admitted> {
    const { request, envelope, caller, approvalId } = acceptance;
    const accepted = await this.db.transaction(async (tx) => {
      const [result] = await this.repository.acceptIn(tx, [acceptance]);
      if (result === undefined) throw new Error('one result per item');
      if (result.id !== request.id) return result;
      const shown = shownRequest({ ...request, ownerId: caller.ownerId, requestedBy: caller.id }, envelope);
      const order = { id: approvalId, kind: 'signing-request' as const, subjectId: request.id, demand, ...shown };
      await this.approvals.request(tx, caller, order);
      return result;
    });
    return { ...accepted, acceptance };
  }
}
