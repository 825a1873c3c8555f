import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import {
  type ApprovalSubject,
  type SubjectApproval,
  ApprovalSubjectsService,
} from '../../../approvals/subjects/approval-subject.port.js';
import { approvalHash, ApprovalsService, type GrantedApproval } from '../../../approvals/approvals.service.js';
import type { KeyUseToApprove } from '../../../approvals/subjects/key-use.port.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { Host } from '../../../hosts/model/host.entity.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Outbox } from '../../../platform/outbox/outbox.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { documentOf } from './rotation-document.js';
import { hasReached, rotationStatusesBefore } from '../model/rotation-state.js';
import { successorFingerprints, usesOfRotation } from './rotation-requirements.js';
import { FencedOff, requesterOf, StepFailure } from '../model/rotation-work.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { Rotation, ROTATION_ACTOR, ROTATION_QUEUE } from '../model/rotation.entity.js';
import { truncate } from '../../../platform/text/truncate.js';

/** The approval of a rotation: shows its changes line by line, and lets it begin while they are still the same. */
@Injectable()
export class RotationApproval implements ApprovalSubject, OnModuleInit {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly outbox: Outbox,
    private readonly approvals: ApprovalsService,
    private readonly subjects: ApprovalSubjectsService,
  ) {}

  onModuleInit(): void {
    this.subjects.register('ssh-rotation', this);
  }

  /** Asks for approval, once every account was surveyed. The rotation waits from then on. Answers the id of the approval. */
  async ask(tx: EntityManager, rotation: Rotation): Promise<string> {
    if (rotation.approvalDemand === null) throw new Error('this rotation needs no approval');
    const id = newId();
    const { shown, title } = await this.document(tx, rotation);
    const order = { id, kind: 'ssh-rotation' as const, subjectId: rotation.id, demand: rotation.approvalDemand };
    await this.approvals.request(tx, requesterOf(rotation), { ...order, title, shown });
    return id;
  }

  /**
   * Asserts before a host is changed that the approval is granted, and that it covers what the rows say now. Until the first host is changed,
   * the policies of now must be met as well: where they demand further votes, the rotation is PENDING_APPROVAL again. A rotation that has begun
   * ends under the approval with which it began. Throws StepFailure, or FencedOff when the rotation waits again.
   */
  async assertCovers(rotation: Rotation): Promise<void> {
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-rotation', [rotation.id]);
    // Both sides are checked: a row whose approvalDemand was removed is not free of its approval.
    if (rotation.approvalDemand !== null || granted !== undefined) {
      const { shown } = await this.document(this.db.manager, rotation);
      const isGiven = granted?.granted === true && granted.id === rotation.approvalId;
      if (!isGiven || !granted.hash.equals(approvalHash(shown)))
        throw notApproved('What would be done is not what was approved. Order the rotation again.');
    }
    if (rotation.dryRun) return;
    const waits = await this.db.transaction((tx) => this.waitsAgain(tx, rotation, granted));
    if (waits) throw new FencedOff();
  }

  /** Whether the policies of now demand further votes before the first host is changed: then every target is taken from its worker. */
  private async waitsAgain(
    tx: EntityManager,
    { id }: Rotation,
    granted: GrantedApproval | undefined,
  ): Promise<boolean> {
    const rotation = await tx.findOneOrFail(Rotation, { where: { id }, lock: { mode: 'pessimistic_write' } });
    const targets = await tx.findBy(RotationTarget, { rotationId: id });
    if (targets.some(({ state }) => hasReached(state, 'ADDED'))) return false;
    const { demand } = await this.approvals.judgeNow(tx, 'ssh-rotation', await usesOfTargets(tx, rotation, targets));
    if (demand === undefined) return false;
    if (granted === undefined)
      throw notApproved('The approval policies were changed, and this rotation needs approval now. Order it again.');
    if (!(await this.approvals.fallsShort(tx, granted.id, demand))) return false;
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = 'PENDING_APPROVAL' WHERE id = $1 AND status = ANY($2)`,
      [id, rotationStatusesBefore('PENDING_APPROVAL')],
    );
    if (moved === 1) {
      await tx.query(
        `UPDATE ssh_rotation_target SET state = 'PLANNED', fence = fence + 1, worker = NULL, lease_until = NULL, due_at = NULL
         WHERE rotation_id = $1 AND outcome = 'OPEN'`,
        [id],
      );
      await this.approvals.reopen(tx, granted.id, demand);
    }
    return true;
  }

  async usesToApprove(tx: EntityManager, { subjectId: id }: SubjectApproval): Promise<KeyUseToApprove[]> {
    const rotation = await tx.findOneByOrFail(Rotation, { id });
    return usesOfTargets(tx, rotation, await tx.findBy(RotationTarget, { rotationId: id }));
  }

  /** A policy covers the successors of the keys that it names. */
  keysCovered(names: readonly string[]): Promise<readonly string[]> {
    return successorFingerprints(this.db.manager, names);
  }

  /** Policies name the keys by their fingerprints. */
  async unknownKeys(tx: EntityManager, names: readonly string[]): Promise<readonly string[]> {
    const known = await tx.find(SshKey, { select: { fingerprint: true }, where: { fingerprint: In([...names]) } });
    const found = new Set(known.map(({ fingerprint }) => fingerprint));
    return names.filter((name) => !found.has(name));
  }

  async released(tx: EntityManager, { approvalId, subjectId, correlation }: SubjectApproval): Promise<void> {
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = 'RUNNING' WHERE id = $1 AND status = 'PENDING_APPROVAL' AND approval_id = $2`,
      [subjectId, approvalId],
    );
    if (moved !== 1)
      throw new Problem('conflict', 'approval.subject-gone', 'The rotation does not wait for this approval.');
    // Each account is surveyed again: it must then still show what was approved.
    await tx.query(`UPDATE ssh_rotation_target SET state = 'PLANNED' WHERE rotation_id = $1 AND outcome = 'OPEN'`, [
      subjectId,
    ]);
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE ssh_rotation_target SET due_at = now() WHERE rotation_id = $1 AND outcome = 'OPEN' AND wave = 0 RETURNING id`,
      [subjectId],
    );
    await this.outbox.add(
      tx,
      ROTATION_QUEUE,
      rows.map(({ id }) => id),
    );
    await this.recordEvent(tx, 'ssh-rotation.approved', { subjectId, correlation, detail: { approval: approvalId } });
  }

  async ended(tx: EntityManager, { approvalId, subjectId, correlation }: SubjectApproval, why: Problem): Promise<void> {
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = 'CANCELLED', failure_code = $3, failure_detail = $4, finished_at = now()
       WHERE id = $1 AND status = 'PENDING_APPROVAL' AND approval_id = $2`,
      [subjectId, approvalId, why.code, why.message],
    );
    if (moved !== 1) return;
    await tx.query(
      `UPDATE ssh_rotation_target SET outcome = 'SKIPPED', due_at = NULL, finished_at = now() WHERE rotation_id = $1 AND outcome = 'OPEN'`,
      [subjectId],
    );
    const detail = { approval: approvalId, code: why.code };
    await this.recordEvent(tx, 'ssh-rotation.cancelled', { subjectId, correlation, detail });
  }

  decided(): void {
    this.outbox.committed(ROTATION_QUEUE);
  }

  private async document(
    tx: EntityManager,
    rotation: Rotation,
  ): Promise<{ title: string; shown: Record<string, unknown> }> {
    const old = await tx.findOneByOrFail(SshKey, { id: rotation.keyId });
    // A key that its host makes is made after the approval, and is no part of what was shown.
    const nextId = rotation.custody === 'host' ? null : rotation.nextKeyId;
    const next = nextId === null ? undefined : await tx.findOneByOrFail(SshKey, { id: nextId });
    const targets = await tx.findBy(RotationTarget, { rotationId: rotation.id });
    const hosts = await tx.findBy(Host, { id: In([...new Set(targets.map(({ hostId }) => hostId))]) });
    const shown = documentOf({ rotation, old, next, targets, hosts });
    return { title: truncate(`Rotate ${old.comment ?? old.fingerprint} on ${targets.length} accounts`, 200), shown };
  }

  private async recordEvent(
    tx: EntityManager,
    action: string,
    { subjectId, correlation, detail }: { subjectId: string; correlation: string; detail: Record<string, unknown> },
  ): Promise<void> {
    const target = { kind: 'ssh-rotation', id: subjectId };
    await this.audit.append(tx, [{ action, actor: ROTATION_ACTOR, target, correlation, detail }]);
  }
}

async function usesOfTargets(
  tx: EntityManager,
  { keyId, custody, requestedBy, ownerId }: Rotation,
  targets: readonly RotationTarget[],
): Promise<KeyUseToApprove[]> {
  const key = await tx.findOneByOrFail(SshKey, { id: keyId });
  return usesOfRotation(tx, { key, custody, accounts: targets, callers: [requestedBy.id, ownerId] });
}

function notApproved(detail: string): StepFailure {
  return new StepFailure('FAILED_PRECHECK', 'rotation.not-approved', detail);
}
