import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { giversOf } from '../../../access/caller.js';
import { allHoldNow } from '../../../auth/rights/credential-rights.js';
import { isId } from '../../../platform/database/new-id.js';
import { Outbox } from '../../../platform/queue/outbox.js';
import { SshKeyFindings } from '../../keys/ssh-key-findings.js';
import { RotationApproval } from '../planning/rotation-approval.js';
import { isOver, rotationStatusesBefore } from '../model/rotation-state.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { Rotation, ROTATION_QUEUE } from '../model/rotation.entity.js';
import { moveLocations } from './moved-locations.js';
import {
  endingOf,
  haltOf,
  progressOf,
  RIGHTS_LOST,
  type RotationMove,
  type RotationProgress,
} from './rollout-rules.js';
import { RotationNotices } from './rotation-notices.js';

/** STALLED_ROTATION selects rotations without a due target, whose targets are all waiting or finished. */
export const STALLED_ROTATION = `SELECT r.id FROM ssh_rotation r WHERE r.finished_at IS NULL AND r.status <> 'PENDING_APPROVAL'
  AND NOT EXISTS (SELECT 1 FROM ssh_rotation_target t WHERE t.rotation_id = r.id AND t.outcome = 'OPEN' AND t.due_at IS NOT NULL)`;

/** RolloutController controls a rotation as a whole: it starts the waves, requests approval, and hands over the new key once every host accepts the key. */
@Injectable()
export class RolloutController {
  constructor(
    private readonly db: DataSource,
    private readonly outbox: Outbox,
    private readonly findings: SshKeyFindings,
    private readonly notices: RotationNotices,
    private readonly approval: RotationApproval,
  ) {}

  /** Advances the rotation as far as the states of its targets allow. Safe to call at any time, because only due actions are performed. */
  async look(rotationId: string): Promise<void> {
    const released = await this.db.transaction(async (tx) => {
      const rotation = await tx.findOne(Rotation, { where: { id: rotationId }, lock: { mode: 'pessimistic_write' } });
      if (rotation === null || isOver(rotation.status) || rotation.status === 'PENDING_APPROVAL') return 0;
      const targets = await tx.findBy(RotationTarget, { rotationId });
      return this.advance(tx, rotation, progressOf(targets));
    });
    if (released > 0) this.outbox.committed(ROTATION_QUEUE);
  }

  /** Advances every rotation without a due target. */
  async lookAtAll(): Promise<void> {
    const rows: { id: string }[] = await this.db.query(STALLED_ROTATION);
    for (const { id } of rows) await this.look(id);
  }

  private async advance(tx: EntityManager, rotation: Rotation, progress: RotationProgress): Promise<number> {
    const { open, waiting } = progress;
    if (rotation.status === 'ROLLING_BACK')
      return open.length > 0 ? this.wakeAll(tx, rotation) : this.end(tx, rotation, progress);
    if (rotation.status === 'HALTED') return 0;
    if (rotation.status === 'SURVEYING') return this.askApproval(tx, rotation, progress);
    const halt = haltOf(rotation, progress);
    if (halt !== undefined) {
      await this.move(tx, rotation, halt);
      return 0;
    }
    if (open.length === 0) return this.end(tx, rotation, progress);
    if (!progress.isThrough(rotation.wave)) return 0;
    if (rotation.wave < progress.lastWave) return this.nextWave(tx, rotation);
    if (waiting.length < open.length || rotation.promotedAt !== null) return 0;
    return this.promote(tx, rotation, waiting);
  }

  /** Requests approval once every account has been surveyed, so that approvers see all changes. */
  private async askApproval(tx: EntityManager, rotation: Rotation, progress: RotationProgress): Promise<number> {
    const { open, lastWave } = progress;
    if (open.some(({ state }) => state === 'PLANNED')) return 0;
    const halt = haltOf(rotation, progress, lastWave);
    if (halt !== undefined) {
      await this.move(tx, rotation, halt);
      return 0;
    }
    if (open.length === 0) return this.end(tx, rotation, progress);
    const approvalId = await this.approval.ask(tx, rotation);
    await tx.update(Rotation, { id: rotation.id }, { approvalId });
    await this.move(tx, rotation, { status: 'PENDING_APPROVAL' });
    return 0;
  }

  /** Makes targets due that were waiting for the handover, because these targets must also be rolled back. */
  private async wakeAll(tx: EntityManager, { id }: Rotation): Promise<number> {
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET due_at = now()
       WHERE rotation_id = $1 AND outcome = 'OPEN' AND due_at IS NULL AND lease_until IS NULL RETURNING id`,
      [id],
    );
    return this.signal(tx, rows);
  }

  private async nextWave(tx: EntityManager, { id, wave }: Rotation): Promise<number> {
    await tx.update(Rotation, { id }, { wave: wave + 1 });
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET due_at = now() WHERE rotation_id = $1 AND wave = $2 AND outcome = 'OPEN' RETURNING id`,
      [id, wave + 1],
    );
    return this.signal(tx, rows);
  }

  /** Hands over the new key. Every host now accepts both keys permanently, so the holder can switch to the new key. */
  private async promote(tx: EntityManager, rotation: Rotation, waiting: RotationTarget[]): Promise<number> {
    if (rotation.custody === 'human' && !(await this.isConfirmed(tx, rotation))) {
      if (rotation.status === 'AWAITING_HOLDER') return this.rollBackIfLost(tx, rotation);
      await this.move(tx, rotation, { status: 'AWAITING_HOLDER' });
      return 0;
    }
    if (rotation.status === 'AWAITING_HOLDER') await this.move(tx, rotation, { status: 'RUNNING' });
    await tx.query(`UPDATE ssh_rotation SET promoted_at = now() WHERE id = $1`, [rotation.id]);
    await tx.query(`UPDATE ssh_key SET replaced_by = $2 WHERE id = $1`, [rotation.keyId, rotation.nextKeyId]);
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET state = 'RELEASED', due_at = now()
       WHERE id = ANY($1::uuid[]) AND state = 'PERMANENT' AND outcome = 'OPEN' RETURNING id`,
      [waiting.map(({ id }) => id)],
    );
    return this.signal(tx, rows);
  }

  /**
   * Rolls the rotation back if someone behind the request has lost the right to rotate keys. Otherwise, a disabled holder would keep a key on the hosts until a
   * user notices.
   */
  private async rollBackIfLost(tx: EntityManager, rotation: Rotation): Promise<number> {
    const { id, requestedBy, ownerId } = rotation;
    const givers = giversOf(requestedBy, ownerId).filter(isId);
    if (givers.length === 0 || (await allHoldNow(tx, givers, ['keys:rotate']))) return 0;
    const reason = `${requestedBy.name}, who requested this rotation, can no longer request rotations.`;
    await this.move(tx, rotation, { status: 'ROLLING_BACK', code: RIGHTS_LOST, reason });
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET outcome = 'OPEN', strikes = 0, due_at = now(), finished_at = NULL
       WHERE rotation_id = $1 AND outcome IN ('OPEN', 'BLOCKED') RETURNING id`,
      [id],
    );
    return this.signal(tx, rows);
  }

  /** Reports whether the holder has confirmed the new key, or a host's log contains a login with the new key. */
  private async isConfirmed(tx: EntityManager, rotation: Rotation): Promise<boolean> {
    if (rotation.confirmedAt !== null) return true;
    const logins: unknown[] = await tx.query(`SELECT 1 FROM ssh_key_login WHERE key_id = $1 AND at > $2 LIMIT 1`, [
      rotation.nextKeyId,
      rotation.createdAt,
    ]);
    return logins.length > 0;
  }

  private async end(tx: EntityManager, rotation: Rotation, progress: RotationProgress): Promise<number> {
    const ending = endingOf(rotation, progress);
    await this.move(tx, rotation, ending);
    if (ending.status !== 'DONE') return 0;
    await tx.query(`UPDATE ssh_key SET state = 'RETIRED' WHERE id = $1`, [rotation.keyId]);
    await tx.query(`DELETE FROM ssh_key_secret WHERE key_id = $1 AND sealed IS NOT NULL`, [rotation.keyId]);
    await moveLocations(tx, rotation);
    await this.findings.refresh(tx, [rotation.keyId, ...(rotation.nextKeyId === null ? [] : [rotation.nextKeyId])]);
    return 0;
  }

  private async move(tx: EntityManager, rotation: Rotation, ending: RotationMove): Promise<void> {
    const { status, code, reason } = ending;
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = $2, failure_code = $3, failure_detail = $4,
         finished_at = CASE WHEN $5 THEN now() END WHERE id = $1 AND status = ANY($6)`,
      [rotation.id, status, code ?? null, reason ?? null, isOver(status), rotationStatusesBefore(status)],
    );
    if (moved !== 1) throw new Error(`a rotation cannot change from ${rotation.status} to ${status}`);
    await this.notices.moved(tx, rotation, ending);
  }

  private async signal(tx: EntityManager, rows: { id: string }[]): Promise<number> {
    await this.outbox.add(
      tx,
      ROTATION_QUEUE,
      rows.map(({ id }) => id),
    );
    return rows.length;
  }
}
