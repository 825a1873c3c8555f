import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Background, isWorker } from '../../platform/work/background.js';
import { type ApprovalEnding, ApprovalMoves } from './approval-moves.js';
import { APPROVALS_ACTOR } from './approval-entries.js';
import { isDecided } from '../model/approval.entity.js';
import { lock } from './voting.service.js';

const BATCH_SIZE = 200;
const EXPIRED = { table: 'approval', where: `status = 'PENDING' AND expires_at <= now()`, order: 'expires_at' };

/** ApprovalEndings ends approvals without a vote: the requester withdrew, the time ran out, or the subject cannot be carried out. */
@Injectable()
export class ApprovalEndings {
  private readonly logger = new Logger(ApprovalEndings.name);

  constructor(
    private readonly db: DataSource,
    private readonly moves: ApprovalMoves,
  ) {}

  /** Withdraws the request of the caller, or of the person behind it. Problem `approval.missing` for everyone else. */
  async withdraw(caller: Caller, id: string): Promise<void> {
    const approval = await this.db.transaction(async (tx) => {
      const found = await lock(tx, id);
      const isTheirs = caller.id === found.requestedBy || (caller.kind === 'user' && caller.id === found.ownerId);
      if (!isTheirs) throw missing('approval');
      if (isDecided(found.status))
        throw new Problem('conflict', 'approval.decided', `The approval is ${found.status} already.`);
      const why = new Problem('refused', 'approval.withdrawn', `${caller.name} withdrew the request.`);
      const by = { actor: caller, correlation: caller.origin.requestId, source: caller.origin.address };
      await this.moves.ended(tx, found, 'WITHDRAWN', why, by);
      return found;
    });
    this.moves.committed(approval);
  }

  /** Ends the approvals that were not decided in time. One that cannot be ended does not stop the others. */
  @Background({ name: 'approval-expiry', scope: 'process', due: EXPIRED, when: isWorker })
  async expire(): Promise<void> {
    const late: { id: string }[] = await this.db.query(
      `SELECT id FROM ${EXPIRED.table} WHERE ${EXPIRED.where} ORDER BY ${EXPIRED.order} LIMIT ${BATCH_SIZE}`,
    );
    for (const { id } of late) {
      await this.expireOne(id).catch((error: unknown) =>
        this.logger.error(`the approval ${id} cannot be ended: ${String(error)}`),
      );
    }
  }

  /** Ends a pending approval whose subject can no longer be carried out. The subject fails with `why`. Does nothing once it is decided. */
  cancel(id: string, why: Problem): Promise<void> {
    return this.endPending(id, 'WITHDRAWN', why);
  }

  private expireOne(id: string): Promise<void> {
    const why = new Problem('refused', 'approval.expired', 'Too few people approved it in time.');
    return this.endPending(id, 'EXPIRED', why);
  }

  private async endPending(id: string, status: ApprovalEnding, why: Problem): Promise<void> {
    const approval = await this.db.transaction(async (tx) => {
      const found = await lock(tx, id);
      if (isDecided(found.status)) return undefined;
      const by = { actor: APPROVALS_ACTOR, correlation: found.correlation, source: '' };
      await this.moves.ended(tx, found, status, why, by);
      return found;
    });
    if (approval !== undefined) this.moves.committed(approval);
  }
}
