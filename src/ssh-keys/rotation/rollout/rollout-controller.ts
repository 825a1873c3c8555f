import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Outbox } from '../../../platform/outbox/outbox.js';
import { SshKeyFindings } from '../../keys/ssh-key-findings.js';
import { RotationApproval } from '../planning/rotation-approval.js';
import { mayFail } from '../model/rotation-limits.js';
import { type RotationEnding, RotationNotices } from './rotation-notices.js';
import { isOver, rotationStatusesBefore } from '../model/rotation-state.js';
import { moveLocations } from './moved-locations.js';
import { type RotationProgress, progressOf } from './rollout-rules.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { ROTATION_QUEUE } from '../model/rotation.queue.js';
import { Rotation } from '../model/rotation.entity.js';

const TOO_MUCH: RotationEnding = {
  status: 'HALTED',
  code: 'rotation.halted',
  says: 'Too many hosts could not be rotated.',
};

const HOLDER_UNPROVEN = 'rotation.holder-unproven';

/** Looks after the targets of a rotation as a whole: lets wave after wave begin, and hands the new key over when every host has it. */
@Injectable()
export class RolloutController {
  constructor(
    private readonly db: DataSource,
    private readonly outbox: Outbox,
    private readonly findings: SshKeyFindings,
    private readonly notices: RotationNotices,
    private readonly approval: RotationApproval,
  ) {}

  /** May be called at any time, by anybody: what is not due is not done. */
  async look(rotationId: string): Promise<void> {
    const released = await this.db.transaction(async (tx) => {
      const rotation = await tx.findOne(Rotation, { where: { id: rotationId }, lock: { mode: 'pessimistic_write' } });
      if (rotation === null || isOver(rotation.status) || rotation.status === 'PENDING_APPROVAL') return 0;
      const targets = await tx.findBy(RotationTarget, { rotationId });
      return this.conduct(tx, rotation, progressOf(targets));
    });
    if (released > 0) this.outbox.committed(ROTATION_QUEUE);
  }

  /** Rotations that somebody should look at: their targets wait, or are through. */
  async lookAtAll(): Promise<void> {
    const rows: { id: string }[] = await this.db.query(
      `SELECT r.id FROM ssh_rotation r WHERE r.finished_at IS NULL AND r.status <> 'PENDING_APPROVAL'
         AND NOT EXISTS (SELECT 1 FROM ssh_rotation_target t WHERE t.rotation_id = r.id AND t.outcome = 'OPEN' AND t.due_at IS NOT NULL)`,
    );
    for (const { id } of rows) await this.look(id);
  }

  private async conduct(tx: EntityManager, rotation: Rotation, progress: RotationProgress): Promise<number> {
    const { open, waiting } = progress;
    if (rotation.status === 'ROLLING_BACK')
      return open.length > 0 ? this.wake(tx, rotation) : this.end(tx, rotation, progress);
    if (rotation.status === 'HALTED') return 0;
    if (rotation.status === 'SURVEYING') return this.survey(tx, rotation, progress);
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

  /** Every account has been looked at: now it can be shown what will be changed. */
  private async survey(tx: EntityManager, rotation: Rotation, progress: RotationProgress): Promise<number> {
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

  /** What waited for the hand-over has to be rolled back as well. */
  private async wake(tx: EntityManager, { id }: Rotation): Promise<number> {
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET due_at = now()
       WHERE rotation_id = $1 AND outcome = 'OPEN' AND due_at IS NULL AND lease_until IS NULL RETURNING id`,
      [id],
    );
    return this.ring(tx, rows);
  }

  private async nextWave(tx: EntityManager, { id, wave }: Rotation): Promise<number> {
    await tx.update(Rotation, { id }, { wave: wave + 1 });
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET due_at = now() WHERE rotation_id = $1 AND wave = $2 AND outcome = 'OPEN' RETURNING id`,
      [id, wave + 1],
    );
    return this.ring(tx, rows);
  }

  /** Every host that takes part accepts both keys for good: the holder may change over. */
  private async promote(tx: EntityManager, rotation: Rotation, waiting: RotationTarget[]): Promise<number> {
    if (rotation.custody === 'human' && !(await this.isConfirmed(tx, rotation))) {
      if (rotation.status !== 'AWAITING_HOLDER') await this.move(tx, rotation, { status: 'AWAITING_HOLDER' });
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
    return this.ring(tx, rows);
  }

  /** Whoever holds the key said that it works, or a host's log shows a login with it. */
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

  private async move(tx: EntityManager, rotation: Rotation, ending: RotationEnding): Promise<void> {
    const { status, code, says } = ending;
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = $2, failure_code = $3, failure_detail = $4,
         finished_at = CASE WHEN $5 THEN now() END WHERE id = $1 AND status = ANY($6)`,
      [rotation.id, status, code ?? null, says ?? null, isOver(status), rotationStatusesBefore(status)],
    );
    if (moved !== 1) throw new Error(`a rotation cannot go from ${rotation.status} to ${status}`);
    await this.notices.moved(tx, rotation, ending);
  }

  private async ring(tx: EntityManager, rows: { id: string }[]): Promise<number> {
    await this.outbox.add(
      tx,
      ROTATION_QUEUE,
      rows.map(({ id }) => id),
    );
    return rows.length;
  }
}

/** Why a person has to look at it before it goes on. A holder that did not prove that it has the key concerns every host, whatever may fail otherwise. */
function haltOf(rotation: Rotation, progress: RotationProgress, wave = rotation.wave): RotationEnding | undefined {
  const unproven = progress.all.find(
    ({ outcome, failureCode }) => outcome === 'FAILED_PRECHECK' && failureCode === HOLDER_UNPROVEN,
  );
  if (unproven !== undefined && rotation.promotedAt === null && !rotation.dryRun)
    return { status: 'HALTED', code: HOLDER_UNPROVEN, says: unproven.failureDetail ?? HOLDER_UNPROVEN };
  return isTooMuch(rotation, progress, wave) ? TOO_MUCH : undefined;
}

/** Before the hand-over a person decides how it goes on without these hosts; what is rolled back for good needs nobody. */
function isTooMuch(rotation: Rotation, progress: RotationProgress, wave = rotation.wave): boolean {
  const { settings, promotedAt, dryRun } = rotation;
  if (
    promotedAt !== null ||
    dryRun ||
    !(progress.has('FAILED_PRECHECK') || progress.has('BLOCKED') || progress.open.length > 0)
  )
    return false;
  return progress.failedIn(wave) > (settings.onFailure === 'halt' ? 0 : mayFail(wave, progress.sizeOf(wave)));
}

function endingOf({ dryRun, status }: Rotation, { all, has }: RotationProgress): RotationEnding {
  if (has('CRITICAL')) return { status: 'CRITICAL', code: 'rotation.locked-out', says: 'A host accepts neither key.' };
  if (dryRun) return { status: 'PLANNED' };
  if (all.every(({ outcome }) => outcome === 'PROVEN')) return { status: 'DONE' };
  if (all.every(({ outcome }) => outcome === 'ROLLED_BACK' || outcome === 'FAILED_PRECHECK'))
    return { status: 'ROLLED_BACK' };
  if (has('BLOCKED') && status !== 'ROLLING_BACK')
    return { status: 'HALTED', code: 'rotation.blocked', says: 'A host needs a person.' };
  return { status: 'PARTIAL', code: 'rotation.partial', says: 'The old key stays where a host could not be rotated.' };
}
