import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApprovalsService } from '../../approvals/approvals.service.js';
import { ApprovalEndings } from '../../approvals/decisions/approval-endings.service.js';
import { Problem } from '../../platform/errors/problem.js';
import { isStopped, SigningKeyReader } from '../keys/signing-key.reader.js';
import { Background } from '../../platform/work/background.js';
import { HeldRequests } from './held-requests.js';

/** Maximum number of approvals handled in one run. The next run follows within a second. */
const BATCH_SIZE = 50;
const WAITING = `SELECT DISTINCT r.approval_id AS "approvalId", r.key_id AS "keyId"
  FROM signing_request r JOIN signing_key k ON k.id = r.key_id AND ${isStopped('k')}
  WHERE r.status = 'PENDING_APPROVAL' AND r.approval_id IS NOT NULL`;

interface Affected {
  readonly approvalId: string;
  readonly keyId: string;
}

/**
 * StoppedKeyRequests ends requests that are waiting for approval although their key no longer signs: it was disabled, will be destroyed, or has
 * expired. Nobody has to approve a request that can no longer be signed.
 */
@Injectable()
export class StoppedKeyRequests {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
    private readonly endings: ApprovalEndings,
    private readonly held: HeldRequests,
    private readonly keys: SigningKeyReader,
  ) {}

  @Background({ name: 'signing-requests-of-stopped-keys', scope: 'process', due: WAITING })
  async endWaiting(): Promise<void> {
    const affected: Affected[] = await this.db.query(`${WAITING} LIMIT ${BATCH_SIZE}`);
    for (const one of affected) {
      const why = await this.keys.whyStopped(one.keyId);
      if (why !== undefined) await this.end(one, why);
    }
  }

  /** Ends the waiting requests of a stopped key. A shared approval continues for the requests of other keys. */
  private async end({ approvalId, keyId }: Affected, why: Problem): Promise<void> {
    const [row]: { others: number }[] = await this.db.query(
      `SELECT count(*)::int AS others FROM signing_request WHERE approval_id = $1 AND status = 'PENDING_APPROVAL' AND key_id <> $2`,
      [approvalId, keyId],
    );
    if (row?.others === 0) return this.endings.cancel(approvalId, why);
    const ended = await this.endPart({ approvalId, keyId }, why);
    for (const id of ended) this.held.decided(id);
  }

  private endPart({ approvalId, keyId }: Affected, why: Problem): Promise<string[]> {
    return this.db.transaction(async (tx) => {
      const approval = await this.approvals.holdPending(tx, approvalId);
      if (approval === undefined) return [];
      const rows: { id: string; correlation: string }[] = await tx.query(
        `SELECT id, correlation FROM signing_request WHERE approval_id = $1 AND status = 'PENDING_APPROVAL' AND key_id = $2 ORDER BY id`,
        [approvalId, keyId],
      );
      const [first] = rows;
      if (first === undefined) return [];
      const itemIds = rows.map(({ id }) => id);
      const { subjectId } = approval;
      await this.held.ended(tx, { approvalId, subjectId, itemIds, correlation: first.correlation }, why);
      return itemIds;
    });
  }
}
