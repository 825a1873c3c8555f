import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApprovalsService, type ApprovalRequirement } from '../../approvals/approvals.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { SigningRequestRepository } from '../requests/signing-request.repository.js';
import { waitingFor } from '../requests/approval-gate.js';
import type { NewSigningRequest } from '../requests/signing-attempt.js';
import { shownBatch } from '../requests/shown-batch.js';
import { useOfRequest } from '../requests/shown-request.js';

const MAX_ATTEMPTS = 3;
/** Minimum number of requests that share an approval. A single request gets a separate approval. */
const MIN_JOINT = 2;

/** HeldBatches records requests from one call that share an approval. The approval releases all of these requests. */
@Injectable()
export class HeldBatches {
  constructor(
    private readonly db: DataSource,
    private readonly repository: SigningRequestRepository,
    private readonly approvals: ApprovalsService,
  ) {}

  /**
   * Records all requests that need approval, together with the approval, or records nothing. The policies of all requests are combined. Returns a map from the
   * IDs in `asked` to the recorded IDs. A recorded ID differs from the ID in `asked` if an earlier request used the same Idempotency-Key.
   */
  async holdForApproval(batchId: string, asked: readonly NewSigningRequest[]): Promise<ReadonlyMap<string, string>> {
    for (let attempt = 1; ; attempt += 1) {
      const uses = asked.map(({ row }) => useOfRequest(row));
      const { revision, demand, held } = await this.approvals.judgeAll('signing-request', uses);
      const waiting = asked.filter((_, i) => held[i]);
      if (demand === undefined || waiting.length < MIN_JOINT) return new Map();
      try {
        return await this.write(
          batchId,
          waiting.map((one) => ({ ...one, policies: revision })),
          demand,
        );
      } catch (error) {
        const isOutdated = error instanceof Problem && error.code === 'approval.policies-changed';
        if (!isOutdated || attempt === MAX_ATTEMPTS) throw error;
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
      const held = waiting.map((one) => waitingFor(approvalId, one));
      const ids = await this.repository.recordIn(tx, held);
      const fresh = held.filter(({ row }, i) => ids[i] === row.id);
      const [first] = fresh;
      if (first !== undefined) {
        const order = { id: approvalId, kind: 'signing-batch' as const, subjectId: batchId, demand };
        const batched = fresh.map(({ row: request, envelope }) => ({ request, envelope }));
        await this.approvals.request(tx, first.caller, { ...order, ...shownBatch(batchId, batched) });
      }
      return new Map(held.map(({ row }, i) => [row.id, ids[i] ?? row.id]));
    });
  }
}
