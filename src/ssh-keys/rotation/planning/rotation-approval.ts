import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import {
  type ApprovalSubject,
  type SubjectApproval,
  ApprovalSubjectsService,
} from '../../../approvals/subjects/approval-subject.port.js';
import { approvalHash, ApprovalsService } from '../../../approvals/approvals.service.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { Host } from '../../../hosts/model/host.entity.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Outbox } from '../../../platform/outbox/outbox.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { documentOf } from './rotation-document.js';
import { requesterOf, StepFailure } from '../model/rotation-work.js';
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

  /** Asserts before the first step that the approval is granted, and that it covers what the rows say now. Throws StepFailure. */
  async assertCovers(rotation: Rotation): Promise<void> {
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-rotation', [rotation.id]);
    // Both sides are checked: a row whose approvalDemand was removed is not free of its approval.
    if (rotation.approvalDemand === null && granted === undefined) return;
    const { shown } = await this.document(this.db.manager, rotation);
    const isGiven = granted?.granted === true && granted.id === rotation.approvalId;
    if (isGiven && granted.hash.equals(approvalHash(shown))) return;
    throw new StepFailure(
      'FAILED_PRECHECK',
      'rotation.not-approved',
      'What would be done is not what was approved. Order the rotation again.',
    );
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
