import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import {
  type ApprovalSubject,
  type SubjectApproval,
  ApprovalSubjectsService,
} from '../../../approvals/policies/approval-subject.port.js';
import { ApprovalsService } from '../../../approvals/approvals.service.js';
import type { KeyUseToApprove } from '../../../approvals/policies/key-use.port.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Outbox } from '../../../platform/queue/outbox.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { readDocument, usesOfTargets } from './rotation-clearance.js';
import { successorFingerprints } from './rotation-requirements.js';
import { requesterOf } from '../model/rotation-work.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { Rotation, ROTATION_ACTOR, ROTATION_QUEUE } from '../model/rotation.entity.js';

/**
 * RotationApproval handles the approval of rotations. The approval shows the changes line by line. RotationClearance starts the rotation only if the changes
 * are still the same.
 */
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

  /** Requests approval after every account has been surveyed. Returns the ID of the approval. */
  async ask(tx: EntityManager, rotation: Rotation): Promise<string> {
    if (rotation.approvalDemand === null) throw new Error('this rotation requires no approval');
    const id = newId();
    const { shown, title } = await readDocument(tx, rotation);
    const order = { id, kind: 'ssh-rotation' as const, subjectId: rotation.id, demand: rotation.approvalDemand };
    await this.approvals.request(tx, requesterOf(rotation), { ...order, title, shown });
    return id;
  }

  async usesToApprove(tx: EntityManager, { subjectId: id }: SubjectApproval): Promise<KeyUseToApprove[]> {
    const rotation = await tx.findOneByOrFail(Rotation, { id });
    return usesOfTargets(tx, rotation, await tx.findBy(RotationTarget, { rotationId: id }));
  }

  /** Returns the fingerprints that a policy covers: the keys that the policy names, and their successors. */
  keysCovered(names: readonly string[]): Promise<readonly string[]> {
    return successorFingerprints(this.db.manager, names);
  }

  /** Returns the names that are not fingerprints of known keys. In policies for rotations, keys are named by fingerprint. */
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
      throw new Problem('conflict', 'approval.subject-gone', 'The rotation is not waiting for this approval.');
    // Each account is surveyed again and must still match the approved changes.
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

  private async recordEvent(
    tx: EntityManager,
    action: string,
    { subjectId, correlation, detail }: { subjectId: string; correlation: string; detail: Record<string, unknown> },
  ): Promise<void> {
    const target = { kind: 'ssh-rotation', id: subjectId };
    await this.audit.append(tx, [{ action, actor: ROTATION_ACTOR, target, correlation, detail }]);
  }
}
