import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import type { Problem } from '../../platform/errors/problem.js';
import { Approval, endsAfter, putNotice } from '../model/approval.entity.js';
import type { ApprovalRequirement, Stage } from '../policies/policy-evaluation.js';
import { APPROVALS_ACTOR, extendedEntry } from './approval-entries.js';
import { lostRequester, type RequestBasis } from './requester-standing.js';
import type { LoggedApproval } from './logged-approval.js';
import { type ApprovalAsLogged, LoggedApprovals } from './logged-approvals.js';

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
 * ApprovalExtension adds stages to an approval if the current policies demand more votes than the policies in effect at the time of the request. The document
 * does not change, so existing votes still count.
 */
@Injectable()
export class ApprovalExtension {
  constructor(
    private readonly audit: AuditService,
    private readonly logged: LoggedApprovals,
  ) {}

  /**
   * Returns the stages that lack approvals, each with the number of missing votes as its threshold: first the approval's own stages, counting the votes
   * that are still valid, then the stages of the demand.
   */
  private async missingStages(
    tx: EntityManager,
    approvalId: string,
    demand: ApprovalRequirement | undefined,
    votes: VotesSoFar,
  ): Promise<Stage[]> {
    const logged = (await this.logged.read(tx, [approvalId], votes.rights)).get(approvalId);
    const given: LoggedApproval['approvals'][number][] = [];
    for (const vote of logged?.approvals ?? [])
      if (await votes.counts(vote.person, Number(vote.stage))) given.push(vote);
    const groupOf = ({ stage }: (typeof given)[number]) => logged?.rules.stages[Number(stage)]?.groupId;
    const lost = lostOf(logged?.rules.stages ?? [], given.map(groupOf));
    const commented = given.filter(({ hasComment }) => hasComment || demand?.commentRequired !== true);
    const demanded = (demand?.stages ?? []).flatMap((stage) => {
      const again = lost.find(({ groupId }) => groupId === stage.groupId)?.threshold ?? 0;
      return shortOf(stage, commented.filter((vote) => groupOf(vote) === stage.groupId).length + again);
    });
    return [...lost, ...demanded];
  }

  /** Adds the missing stages to an approval whose row is locked. Returns true if stages were missing, in which case the approval is PENDING. */
  async extend(
    tx: EntityManager,
    approval: Approval,
    demand: ApprovalRequirement | undefined,
    votes: VotesSoFar,
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

  /**
   * Reports whether a granted approval lacks votes now: under the current policies, or because people who voted have since lost the right to vote. Such changes
   * matter because the subject could have been delayed by modifying the database.
   */
  async fallsShort(tx: EntityManager, id: string, demand: ApprovalRequirement | undefined): Promise<boolean> {
    const { votes } = await this.votesNow(tx, await tx.findOneByOrFail(Approval, { id }));
    return (await this.missingStages(tx, id, demand, votes)).length > 0;
  }

  /** Like `extend`, but for a granted approval whose subject has not been carried out. */
  async reopen(tx: EntityManager, id: string, demand: ApprovalRequirement | undefined): Promise<boolean> {
    const row = await tx.findOneOrFail(Approval, { where: { id }, lock: { mode: 'pessimistic_write' } });
    const { asked, votes } = await this.votesNow(tx, row);
    if (asked.approval.status !== 'APPROVED')
      throw new Error(`approval ${id} cannot be reopened: its status is ${asked.approval.status}`);
    return this.extend(tx, asked.approval, demand, votes);
  }

  /**
   * Returns the reason why a granted approval could no longer be requested; undefined if the requester still has the right to request it.
   *
   * @param keys names of the signing keys that the request uses
   */
  async lostGround(tx: EntityManager, id: string, keys: readonly string[]): Promise<Problem | undefined> {
    const { asked, votes } = await this.votesNow(tx, await tx.findOneByOrFail(Approval, { id }));
    return lostRequester(tx, asked.approval, votes.rights, votes.basis, keys);
  }

  private async votesNow(tx: EntityManager, row: Approval): Promise<{ asked: ApprovalAsLogged; votes: VotesSoFar }> {
    const rights = await this.logged.latestRights();
    const asked = await this.logged.asLogged(tx, row, rights);
    const counts = (person: string, stage: number) => this.logged.voteCounts(tx, asked, { person, stage }, rights);
    const { rejections, basis } = asked.logged;
    return { asked, votes: { rejections: rejections.size, counts, rights, basis } };
  }
}

/**
 * Returns the missing votes in the approval's own stages, as one stage per group.
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

/** Combines the rules of the approval with the new demand. Policies that no longer apply are kept, because their demands have already been met. */
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
