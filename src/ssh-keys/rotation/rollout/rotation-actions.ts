import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { writeUnique } from '../../../platform/errors/database-error.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { Outbox } from '../../../platform/queue/outbox.js';
import { RolloutController } from './rollout-controller.js';
import { RIGHTS_LOST } from './rollout-rules.js';
import { type RotationStatus, rotationStatusesBefore } from '../model/rotation-state.js';
import { rotationUnderWay } from '../model/rotation-work.js';
import { Rotation, ROTATION_QUEUE } from '../model/rotation.entity.js';

/** RotationActions contains the actions that users can take on a rotation in progress. */
@Injectable()
export class RotationActions {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly outbox: Outbox,
    private readonly rollout: RolloutController,
  ) {}

  /**
   * Rolls the rotation back on all hosts. Throws Problem `rotation.too-late` after the handover, when holders already use the new key, except if the requester
   * has lost the right to rotate keys. Throws Problem `rotation.pending-approval` while no host has been changed yet.
   */
  async rollBack(caller: Caller, id: string): Promise<void> {
    await this.act(caller, id, 'roll-back-requested', async (tx) => {
      const rotation = await tx.findOneByOrFail(Rotation, { id });
      if (rotation.status === 'PENDING_APPROVAL') throw pendingApproval(rotation);
      await this.move(
        tx,
        id,
        'ROLLING_BACK',
        `(promoted_at IS NULL OR failure_code = '${RIGHTS_LOST}') AND NOT dry_run`,
      );
      await tx.query(`UPDATE ssh_rotation SET promoted_at = NULL WHERE id = $1`, [id]);
      await tx.query(`UPDATE ssh_key SET replaced_by = NULL WHERE id = $1 AND replaced_by = $2`, [
        rotation.keyId,
        rotation.nextKeyId,
      ]);
      await this.reopen(tx, id, `outcome IN ('OPEN', 'BLOCKED')`);
    });
  }

  /**
   * Resumes a rotation that was halted or that locked a host out, and retries the failed targets. After the handover, missing lines of the new key are
   * restored. Throws Problem `rotation.under-way` if another rotation of the key has been started in the meantime.
   */
  async retry(caller: Caller, id: string): Promise<void> {
    await this.act(caller, id, 'retried', async (tx) => {
      // A rotation without an approval request returns to the survey, and approval is requested after the survey.
      const [row]: { unasked: boolean }[] = await tx.query(
        `SELECT approval_demand IS NOT NULL AND approval_id IS NULL AS unasked FROM ssh_rotation WHERE id = $1`,
        [id],
      );
      await this.move(tx, id, row?.unasked === true ? 'SURVEYING' : 'RUNNING', `status IN ('HALTED', 'CRITICAL')`);
      await tx.query(
        `UPDATE ssh_rotation_target SET state = 'PLANNED' WHERE rotation_id = $1 AND outcome = 'FAILED_PRECHECK'`,
        [id],
      );
      await tx.query(
        `UPDATE ssh_rotation_target SET restore_next = true
         WHERE rotation_id = $1 AND outcome IN ('BLOCKED', 'CRITICAL') AND state IN ('RELEASED', 'PROMOTED', 'OVERLAP', 'REMOVED')`,
        [id],
      );
      await this.reopen(tx, id, `outcome IN ('BLOCKED', 'CRITICAL', 'FAILED_PRECHECK')`);
    });
  }

  /** Skips a host, which keeps the old key. Allowed only if the host is unchanged. */
  async skip(caller: Caller, id: string, targetId: string): Promise<void> {
    await this.act(caller, id, 'skipped', async (tx) => {
      const [, skipped]: [unknown, number] = await tx.query(
        `UPDATE ssh_rotation_target SET outcome = 'SKIPPED', due_at = NULL, finished_at = now()
         WHERE id = $1 AND rotation_id = $2 AND state IN ('PLANNED', 'PRECHECKED')
           AND outcome IN ('OPEN', 'FAILED_PRECHECK', 'BLOCKED') AND (lease_until IS NULL OR lease_until < now())`,
        [targetId, id],
      );
      if (skipped !== 1)
        throw new Problem(
          'conflict',
          'rotation.target-state',
          'The target has already been changed, or is being changed.',
        );
    });
  }

  /** Records that the holder of the new key confirmed that the key works. */
  async confirm(caller: Caller, id: string): Promise<void> {
    await this.act(caller, id, 'confirmed', async (tx) => {
      const [, confirmed]: [unknown, number] = await tx.query(
        `UPDATE ssh_rotation SET confirmed_at = now()
         WHERE id = $1 AND custody = 'human' AND confirmed_at IS NULL AND finished_at IS NULL`,
        [id],
      );
      if (confirmed !== 1) throw await refusalIn(tx, id);
    });
  }

  private async act(
    caller: Caller,
    id: string,
    action: string,
    change: (tx: EntityManager) => Promise<void>,
  ): Promise<void> {
    const work = async (tx: EntityManager) => {
      const found: unknown[] = await tx.query(`SELECT 1 FROM ssh_rotation WHERE id = $1 FOR UPDATE`, [id]);
      if (found.length === 0) throw missing('rotation');
      await change(tx);
      await this.audit.appendBy(tx, caller, { action: `ssh-rotation.${action}`, target: { kind: 'ssh-rotation', id } });
    };
    await writeUnique(this.db, work, rotationUnderWay);
    await this.rollout.look(id);
    this.outbox.committed(ROTATION_QUEUE);
  }

  private async move(tx: EntityManager, id: string, to: RotationStatus, condition: string): Promise<void> {
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = $2, failure_code = NULL, failure_detail = NULL, finished_at = NULL WHERE id = $1 AND status = ANY($3) AND ${condition}`,
      [id, to, rotationStatusesBefore(to)],
    );
    if (moved !== 1) throw await refusalIn(tx, id);
  }

  private async reopen(tx: EntityManager, id: string, which: string): Promise<void> {
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET outcome = 'OPEN', strikes = 0, due_at = now(), finished_at = NULL
       WHERE rotation_id = $1 AND ${which} RETURNING id`,
      [id],
    );
    await this.outbox.add(
      tx,
      ROTATION_QUEUE,
      rows.map((row) => row.id),
    );
  }
}

/** Returns the Problem for an action that the state of the rotation does not allow. */
async function refusalIn(tx: EntityManager, id: string): Promise<Problem> {
  const { status, promotedAt } = await tx.findOneByOrFail(Rotation, { id });
  const handedOver =
    promotedAt === null
      ? ''
      : ' The new key has already been handed over. Retry the rotation if it is halted, or rotate the new key after the rotation ends.';
  return new Problem(
    'conflict',
    'rotation.too-late',
    `This operation is not allowed while the rotation is ${status}.${handedOver}`,
  );
}

function pendingApproval({ approvalId }: Rotation): Problem {
  const path = `/api/v1/approvals/${approvalId}`;
  return new Problem(
    'conflict',
    'rotation.pending-approval',
    `The rotation is pending approval, and no host has been changed. To cancel it, withdraw the approval: POST ${path}/withdraw.`,
    { instance: path },
  );
}
