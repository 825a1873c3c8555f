import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { Approval, endsAfter, putNotice } from '../model/approval.entity.js';
import type { ApprovalRequirement, Stage } from '../policies/policy-evaluation.js';
import { APPROVALS_ACTOR, extendedEntry } from './approval-entries.js';
import type { RequestBasis } from './requester-standing.js';
import type { LoggedApproval } from './logged-approval.js';
import { LoggedApprovals } from './logged-approvals.js';

/** VotesSoFar describes the votes on an approval when its last stage passes. */
export interface VotesSoFar {
  readonly rejections: number;
  /** Reports whether a person's vote in a stage still counts. */
  readonly counts: (person: string, stage: number) => Promise<boolean>;
  readonly rights: RightsHistory;
  /** Basis of the request; undefined for requests made by earlier versions. */
  readonly basis: RequestBasis | undefined;
}

/**
 * ApprovalExtension adds stages to an approval if the current policies demand more votes than those in effect at the request. The document does not change,
 * so existing votes still count.
 */
@Injectable()
export class ApprovalExtension {
  constructor(
    private readonly audit: AuditService,
    private readonly logged: LoggedApprovals,
  ) {}

  /**
   * Returns the stages that lack approvals, with the number of missing votes as their threshold: first the approval's own stages, counting the votes
   * that are still valid, then the stages of the demand. Without `votes`, the approval's own stages are not checked again.
   */
  async missingStages(
    tx: EntityManager,
    approvalId: string,
    demand: ApprovalRequirement | undefined,
    votes?: VotesSoFar,
  ): Promise<Stage[]> {
    const rights = votes?.rights ?? (await this.logged.signedRights());
    const logged = (await this.logged.read(tx, [approvalId], rights)).get(approvalId);
    const given: LoggedApproval['approvals'][number][] = [];
    for (const vote of logged?.approvals ?? [])
      if (votes === undefined || (await votes.counts(vote.person, Number(vote.stage)))) given.push(vote);
    const groupOf = ({ stage }: (typeof given)[number]) => logged?.rules.stages[Number(stage)]?.groupId;
    const lost = votes === undefined ? [] : lostOf(logged?.rules.stages ?? [], given.map(groupOf));
    const commented = given.filter(({ hasComment }) => hasComment || demand?.commentRequired !== true);
    const demanded = (demand?.stages ?? []).flatMap((stage) => {
      const again = lost.find(({ groupId }) => groupId === stage.groupId)?.threshold ?? 0;
      return shortOf(stage, commented.filter((vote) => groupOf(vote) === stage.groupId).length + again);
    });
    return [...lost, ...demanded];
  }

  /** Requests the missing stages, under the row lock of the approval. Returns true if there are any: the approval is then PENDING. */
  async extend(
    tx: EntityManager,
    approval: Approval,
    demand: ApprovalRequirement | undefined,
    votes?: VotesSoFar,
  ): Promise<boolean> {
    const missing = await this.missingStages(tx, approval.id, demand, votes);
    const [next] = missing;
    if (next === undefined) return false;
    const rules = mergedRules(approval, demand ?? approval, missing);
    const stage = approval.stages.length;
    const { expiresAt, remindAt } = endsAfter(rules.expiresInSeconds);
    const { affected } = await tx
      .createQueryBuilder()
      .update(Approval)
      .set({
        ...rules,
        status: 'PENDING',
        stage,
        groupId: next.groupId,
        groupIds: rules.stages.map(({ groupId }) => groupId),
        decidedAt: null,
        expiresAt,
        remindAt,
      })
      .where('id = :id AND status = :was', { id: approval.id, was: approval.status })
      .execute();
    if (affected !== 1)
      throw new Error(`approval ${approval.id} is locked, but its status is no longer ${approval.status}`);
    await putNotice(tx, approval.id, 'requested');
    await this.audit.append(tx, [extendedEntry(Object.assign(approval, rules, { stage }), APPROVALS_ACTOR)]);
    return true;
  }

  /** As `extend`, for an approval that was granted and whose subject has not been carried out. */
  async reopen(tx: EntityManager, id: string, demand: ApprovalRequirement): Promise<boolean> {
    const row = await tx.findOneOrFail(Approval, { where: { id }, lock: { mode: 'pessimistic_write' } });
    const { approval } = await this.logged.asLogged(tx, row, await this.logged.signedRights());
    if (approval.status !== 'APPROVED')
      throw new Error(`approval ${id} cannot be reopened: its status is ${approval.status}`);
    return this.extend(tx, approval, demand);
  }
}

/**
 * Returns the votes that the approval's own stages lack, as one stage per group.
 *
 * @param given the group of each vote that still counts
 */
function lostOf(stages: readonly Stage[], given: readonly (string | undefined)[]): Stage[] {
  const asked = Map.groupBy(
    stages.filter(({ again }) => again !== true),
    ({ groupId }) => groupId,
  );
  return [...asked.values()].flatMap((same) => {
    const [{ groupId, group }] = same as [Stage];
    const threshold = same.reduce((sum, stage) => sum + stage.threshold, 0);
    return shortOf({ groupId, group, threshold, again: true }, given.filter((one) => one === groupId).length);
  });
}

/** Returns the stage with the number of missing votes as its threshold; empty if no vote is missing. */
function shortOf(stage: Stage, given: number): Stage[] {
  return given >= stage.threshold ? [] : [{ ...stage, threshold: stage.threshold - given }];
}

/** Earlier demands are kept: policies that no longer apply have already been met. */
function mergedRules(approval: Approval, demand: Omit<ApprovalRequirement, 'stages'>, missing: readonly Stage[]) {
  const earlier = approval.policies.filter(({ id }) => !demand.policies.some((policy) => policy.id === id));
  return {
    policies: [...earlier, ...demand.policies],
    stages: [...approval.stages, ...missing],
    commentRequired: approval.commentRequired || demand.commentRequired,
    rejectThreshold: Math.min(approval.rejectThreshold, demand.rejectThreshold),
    expiresInSeconds: demand.expiresInSeconds,
  };
}
