import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { assertScope, mayDo, ROLE_NAMES, type RoleName, type Scope, scopesOf } from '../../access/scopes.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Background, isWorker } from '../../platform/work/background.js';
import { type ApprovalEnding, ApprovalMoves } from './approval-moves.js';
import { APPROVALS_ACTOR } from './approval-entries.js';
import { isDecided, Approval } from '../model/approval.entity.js';
import { lostRight, REQUEST_SCOPES } from './requester-standing.js';
import { lock } from './voting.service.js';

const BATCH_SIZE = 200;
const EXPIRED = { table: 'approval', where: `status = 'PENDING' AND expires_at <= now()`, order: 'expires_at' };
/** SQL expression for the roles that may request an approval, by kind of subject. The scope that the original call required is checked at the last vote. */
const REQUESTING_ROLES = `CASE subject_kind ${Object.entries(REQUEST_SCOPES)
  .map(([kind, scopes]) => `WHEN '${kind}' THEN ARRAY['${rolesWith(scopes).join(`','`)}']::text[]`)
  .join(' ')} END`;
const LOST = {
  table: 'approval',
  where: `status = 'PENDING' AND (
    EXISTS (SELECT FROM user_account u WHERE u.id = ${uuidOf('owner_id')} AND (u.disabled OR NOT u.roles && ${REQUESTING_ROLES}))
    OR EXISTS (SELECT FROM api_key k WHERE k.id = ${uuidOf('requested_by')} AND k.revoked_at IS NOT NULL)
    OR EXISTS (SELECT FROM oauth_client c WHERE c.id = ${uuidOf('requested_by')} AND c.revoked_at IS NOT NULL))`,
  order: 'id',
};

/** ApprovalEndings ends approvals without a vote: the requester withdrew, the approval expired, or the subject cannot be carried out. */
@Injectable()
export class ApprovalEndings {
  private readonly logger = new Logger(ApprovalEndings.name);

  constructor(
    private readonly db: DataSource,
    private readonly moves: ApprovalMoves,
  ) {}

  /**
   * Withdraws a request that the caller made or owns. A caller with `approvals:write` and `audit:read` can withdraw every request.
   *
   * @throws Problem `approval.missing` for other callers, and `insufficient_scope` for an OAuth client that acts for the owner but lacks a scope to make
   *   the request
   */
  async withdraw(caller: Caller, id: string): Promise<void> {
    const approval = await this.db.transaction(async (tx) => {
      const found = await lock(tx, id);
      assertMayWithdraw(caller, found);
      if (isDecided(found.status))
        throw new Problem(
          'conflict',
          'approval.decided',
          `The approval has already been decided: its status is ${found.status}.`,
        );
      const why = new Problem('refused', 'approval.withdrawn', `${caller.name} withdrew the request.`);
      const by = { actor: caller, correlation: caller.origin.requestId, source: caller.origin.address };
      await this.moves.ended(tx, found, 'WITHDRAWN', why, by);
      return found;
    });
    this.moves.committed(approval);
  }

  /** Ends approvals that have expired. A failure to end one approval does not affect other approvals. */
  @Background({ name: 'approval-expiry', scope: 'process', due: EXPIRED, when: isWorker })
  async expire(): Promise<void> {
    const late: { id: string }[] = await this.db.query(
      `SELECT id FROM ${EXPIRED.table} WHERE ${EXPIRED.where} ORDER BY ${EXPIRED.order} LIMIT ${BATCH_SIZE}`,
    );
    for (const { id } of late) {
      await this.expireOne(id).catch((error: unknown) =>
        this.logger.error(`unable to expire approval ${id}: ${String(error)}`),
      );
    }
  }

  /**
   * Withdraws requests whose owner is disabled or no longer has a role that may make them, and requests of revoked keys and clients. Otherwise, approvers would
   * review requests that are withdrawn when the last vote is cast.
   */
  @Background({ name: 'approval-withdrawal', scope: 'process', due: LOST, when: isWorker })
  async withdrawLost(): Promise<void> {
    const lost: { id: string; requesterName: string }[] = await this.db.query(
      `SELECT a.id, a.requester_name AS "requesterName" FROM ${LOST.table} a WHERE ${LOST.where} ORDER BY ${LOST.order} LIMIT ${BATCH_SIZE}`,
    );
    for (const { id, requesterName } of lost)
      await this.cancel(id, lostRight(requesterName)).catch((error: unknown) =>
        this.logger.error(`unable to withdraw approval ${id}: ${String(error)}`),
      );
  }

  /** Ends a pending approval whose subject can no longer be carried out. The subject fails with `why`. Has no effect on a decided approval. */
  cancel(id: string, why: Problem): Promise<void> {
    return this.endPending(id, 'WITHDRAWN', why);
  }

  private expireOne(id: string): Promise<void> {
    const why = new Problem(
      'refused',
      'approval.expired',
      'The approval expired before enough people had approved the request.',
    );
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

function rolesWith(scopes: readonly Scope[]): readonly RoleName[] {
  return ROLE_NAMES.filter((role) => scopes.some((scope) => mayDo(scopesOf([role]), scope)));
}

function assertMayWithdraw(caller: Caller, { requestedBy, ownerId, subjectKind }: Approval): void {
  if (mayDo(caller.scopes, 'approvals:write') && mayDo(caller.scopes, 'audit:read')) return;
  const isOwner = caller.kind === 'user' && caller.id === ownerId;
  if (caller.id !== requestedBy && !isOwner) throw missing('approval');
  if (!caller.session?.clientId || caller.kind !== 'user') return;
  const [first, ...more] = REQUEST_SCOPES[subjectKind];
  if (!more.some((scope) => mayDo(caller.scopes, scope))) assertScope(caller.scopes, first);
}
