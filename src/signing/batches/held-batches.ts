import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApprovalsService, type ApprovalRequirement } from '../../approvals/approvals.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { SigningRequestRepository } from '../requests/signing-request.repository.js';
import type { NewSigningRequest } from '../requests/signing-outcome.js';
import { shownBatch } from '../requests/shown-batch.js';
import { policyFactsOf } from '../requests/shown-request.js';

const ATTEMPTS = 3;
/** One alone is asked for by itself. */
const FEWEST = 2;

/** Requests of one call that wait for one approval, which releases them all. */
@Injectable()
export class HeldBatches {
  constructor(
    private readonly db: DataSource,
    private readonly repository: SigningRequestRepository,
    private readonly approvals: ApprovalsService,
  ) {}

  /**
   * Holds those of the requests that need approval: together with the question to the approvers, or not at all. The policies of all of
   * them add up. Answers their ids, or those of the earlier requests that their Idempotency-Keys stand for.
   */
  async holdForApproval(batchId: string, asked: readonly NewSigningRequest[]): Promise<ReadonlyMap<string, string>> {
    for (let attempt = 1; ; attempt += 1) {
      const uses = asked.map((one) => ({ key: one.request.keyName, facts: policyFactsOf(one, one.caller) }));
      const { revision, demand, held } = await this.approvals.judgeAll('signing-request', uses);
      const waiting = asked.filter((_, i) => held[i]);
      if (demand === undefined || waiting.length < FEWEST) return new Map();
      try {
        return await this.write(
          batchId,
          waiting.map((one) => ({ ...one, policies: revision })),
          demand,
        );
      } catch (error) {
        const isOutdated = error instanceof Problem && error.code === 'approval.policies-changed';
        if (!isOutdated || attempt === ATTEMPTS) throw error;
        this.approvals.outdated();
      }
    }
  }

  private write(
    batchId: string,
    waiting: NewSigningRequest[],
    demand: ApprovalRequirement,
  ): Promise<ReadonlyMap<string, string>> {
    const approvalId = newId();
    return this.db.transaction(async (tx) => {
      const held = waiting.map((one) => ({ ...one, status: 'PENDING_APPROVAL' as const, approvalId }));
      const accepted = await this.repository.acceptIn(tx, held);
      const fresh = held.filter(({ request }, i) => accepted[i]?.id === request.id);
      const [first] = fresh;
      if (first !== undefined) {
        const { id: requestedBy, ownerId } = first.caller;
        const batched = fresh.map(({ request, envelope }) => ({
          request: { ...request, ownerId, requestedBy },
          envelope,
        }));
        const order = { id: approvalId, kind: 'signing-batch' as const, subjectId: batchId, demand };
        await this.approvals.request(tx, first.caller, { ...order, ...shownBatch(batchId, batched) });
      }
      return new Map(held.map(({ request }, i) => [request.id, accepted[i]?.id ?? request.id]));
    });
  }
}
