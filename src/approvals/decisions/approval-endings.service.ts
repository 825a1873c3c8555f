import { Injectable, Logger } from '@nestjs/common';
import { DataSource, LessThanOrEqual, Raw } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type ApprovalEnding, ApprovalMoves } from './approval-moves.js';
import { APPROVALS_ACTOR } from './approval-entries.js';
import { isDecided, Approval } from '../model/approval.entity.js';
import { lock } from './voting.service.js';

const BATCH_SIZE = 200;

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
  async expire(): Promise<void> {
    const late = await this.db.manager.find(Approval, {
      select: { id: true },
      // Written out, as the index on those that wait has it: a parameter could be any status.
      where: { status: Raw((status) => `${status} = 'PENDING'`), expiresAt: LessThanOrEqual(await this.now()) },
      order: { expiresAt: 'ASC' },
      take: BATCH_SIZE,
    });
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

  private async now(): Promise<Date> {
    const [{ now } = { now: new Date(0) }]: { now: Date }[] = await this.db.query(`SELECT now()`);
    return now;
  }
}
