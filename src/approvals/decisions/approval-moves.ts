import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import { EventBus } from '../../platform/events/events.js';
import { Problem } from '../../platform/errors/problem.js';
import { PolicyEvaluation } from '../policies/policy-evaluation.js';
import { type SubjectApproval, ApprovalSubjectsService, policySubjectOf } from '../policies/approval-subject.port.js';
import { putNotice, type ApprovalStatus, type Approval, ApprovalItem } from '../model/approval.entity.js';
import { movedEntry } from './approval-entries.js';
import { lostRequester } from './requester-standing.js';
import { ApprovalExtension, type VotesSoFar } from './approval-extension.js';

type By = Pick<NewEntry, 'actor' | 'correlation' | 'source'>;

export type ApprovalEnding = Extract<ApprovalStatus, 'REJECTED' | 'EXPIRED' | 'WITHDRAWN'>;

/** ApprovalMoves changes the state of an approval and applies the effects to the approval's subject, in the caller's transaction. */
@Injectable()
export class ApprovalMoves {
  constructor(
    private readonly audit: AuditService,
    private readonly subjects: ApprovalSubjectsService,
    private readonly events: EventBus,
    private readonly evaluation: PolicyEvaluation,
    private readonly extension: ApprovalExtension,
  ) {}

  /** Handles the approval of the current stage: requests the votes of the next stage or, after the last stage, releases the subject. */
  async stagePassed(tx: EntityManager, approval: Approval, by: By, votes: VotesSoFar): Promise<void> {
    const next = approval.stages[approval.stage + 1];
    if (next === undefined) return this.approved(tx, approval, by, votes);
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE approval SET stage = stage + 1, group_id = $3 WHERE id = $1 AND status = 'PENDING' AND stage = $2`,
      [approval.id, approval.stage, next.groupId],
    );
    assertMoved(moved);
    await putNotice(tx, approval.id, 'requested');
    await this.audit.append(tx, [movedEntry(approval, { status: 'PENDING', stage: approval.stage + 1 }, by)]);
  }

  /** Ends an approval without granting it, and ends the subject with the reason `why`. */
  async ended(tx: EntityManager, approval: Approval, status: ApprovalEnding, why: Problem, by: By): Promise<void> {
    await this.decide(tx, approval, status, by);
    await this.subjects.of(approval.subjectKind).ended(tx, await subjectOf(tx, approval), why);
  }

  /** Notifies waiting callers and the module that owns the subject. Call this method after a vote or a state change has been committed. */
  committed({ id, subjectKind, subjectId }: Approval): void {
    this.events.emit('approval.changed', { approvalId: id });
    this.subjects.of(subjectKind).decided(subjectId);
  }

  /**
   * Decides an approval whose stages have all passed, and releases its subject in the same transaction. If the current policies demand more votes, or a
   * vote no longer counts because the voter has left the group, the missing votes are requested instead. The approval is withdrawn if the requester has
   * lost the right to request it.
   */
  private async approved(tx: EntityManager, approval: Approval, by: By, votes: VotesSoFar): Promise<void> {
    const { rejections, rights, basis } = votes;
    const subject = await subjectOf(tx, approval);
    const owner = this.subjects.of(approval.subjectKind);
    const policySubject = policySubjectOf(approval.subjectKind);
    const signed = policySubject === 'signing-request' ? await owner.usesToApprove(tx, subject) : undefined;
    const keys = (signed ?? []).map(({ key }) => key);
    const lost = (await lostRequester(tx, approval, rights, basis, keys)) ?? (await owner.lostGround?.(tx, subject));
    if (lost !== undefined) return this.ended(tx, approval, 'WITHDRAWN', lost, by);
    const uses = signed ?? (await owner.usesToApprove(tx, subject));
    const { demand } = await this.evaluation.judgeNow(tx, policySubject, uses);
    if (demand !== undefined) {
      if (rejections >= demand.rejectThreshold)
        return this.ended(tx, approval, 'REJECTED', tooManyRejections(rejections), by);
    }
    if (await this.extension.extend(tx, approval, demand, votes)) return;
    await this.decide(tx, approval, 'APPROVED', by);
    await owner.released(tx, subject);
  }

  private async decide(tx: EntityManager, approval: Approval, status: ApprovalStatus, by: By): Promise<void> {
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE approval SET status = $3, group_id = NULL, decided_at = clock_timestamp()
       WHERE id = $1 AND status = 'PENDING' AND stage = $2`,
      [approval.id, approval.stage, status],
    );
    assertMoved(moved);
    await putNotice(tx, approval.id, 'decided');
    await this.audit.append(tx, [movedEntry(approval, { status, stage: approval.stage }, by)]);
  }
}

async function subjectOf(tx: EntityManager, { id, subjectId, correlation }: Approval): Promise<SubjectApproval> {
  const items = await tx.findBy(ApprovalItem, { approvalId: id });
  return { approvalId: id, subjectId, itemIds: items.map((item) => item.subjectId), correlation };
}

function tooManyRejections(count: number): Problem {
  const detail = `Rejected by ${count} people, which is the threshold of the current approval policies.`;
  return new Problem('refused', 'approval.rejected', detail);
}

function assertMoved(moved: number): void {
  if (moved !== 1)
    throw new Problem(
      'conflict',
      'approval.decided',
      'The approval has just been decided by another vote. Reload the approval.',
    );
}
