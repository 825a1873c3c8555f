import { Injectable, Logger } from '@nestjs/common';
import { DataSource, LessThanOrEqual, Raw } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { assertScope, mayDo } from '../../access/scopes.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type ApprovalEnding, ApprovalMoves } from './approval-moves.js';
import { APPROVALS_ACTOR } from './approval-entries.js';
import { isDecided, Approval } from '../model/approval.entity.js';
import { lostRight, REQUEST_SCOPES } from './requester-standing.js';
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

  /**
   * Withdraws the request of the caller or of the person behind it; of anybody for a caller who administers approvals and sees them all.
   *
   * @throws Problem `approval.missing` for everyone else, `insufficient_scope` for a client of the person that could not make the request either
   */
  async withdraw(caller: Caller, id: string): Promise<void> {
    const approval = await this.db.transaction(async (tx) => {
      const found = await lock(tx, id);
      assertMayWithdraw(caller, found);
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

  /**
   * Withdraws what people who are disabled, or keys and clients that were revoked, requested: it would be withdrawn at the last vote, and approvers
   * need not read it until then.
   */
  async withdrawLost(): Promise<void> {
    const lost: { id: string; requesterName: string }[] = await this.db.query(
      `SELECT a.id, a.requester_name AS "requesterName" FROM approval a WHERE a.status = 'PENDING' AND (
         EXISTS (SELECT FROM user_account u WHERE u.id = ${uuidOf('a.owner_id')} AND u.disabled)
         OR EXISTS (SELECT FROM api_key k WHERE k.id = ${uuidOf('a.requested_by')} AND k.revoked_at IS NOT NULL)
         OR EXISTS (SELECT FROM oauth_client c WHERE c.id = ${uuidOf('a.requested_by')} AND c.revoked_at IS NOT NULL))
       ORDER BY a.id LIMIT ${BATCH_SIZE}`,
    );
    for (const { id, requesterName } of lost)
      await this.cancel(id, lostRight(requesterName)).catch((error: unknown) =>
        this.logger.error(`the approval ${id} cannot be withdrawn: ${String(error)}`),
      );
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

function assertMayWithdraw(caller: Caller, { requestedBy, ownerId, subjectKind }: Approval): void {
  if (mayDo(caller.scopes, 'approvals:write') && mayDo(caller.scopes, 'audit:read')) return;
  const isOwner = caller.kind === 'user' && caller.id === ownerId;
  if (caller.id !== requestedBy && !isOwner) throw missing('approval');
  if (!caller.session?.clientId || caller.kind !== 'user') return;
  const [first, ...more] = REQUEST_SCOPES[subjectKind];
  if (!more.some((scope) => mayDo(caller.scopes, scope))) assertScope(caller.scopes, first);
}
