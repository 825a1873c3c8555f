import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { isId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import { type PolicySubject, ApprovalSubjectsService } from './approval-subject.port.js';
import { approversIn } from '../groups/membership.js';
import type { ApprovalPolicy, PolicyStage, PolicyOrder } from './approval-policy.entity.js';
import { PolicyEvaluation } from './policy-evaluation.js';

/** Value in `keys` that stands for every key. */
const WHOLE = '*';
/** Term for the names in `keys`, by kind of subject. */
const NAMED: Readonly<Record<PolicySubject, string>> = {
  'signing-request': 'signing key named',
  'ssh-rotation': 'SSH key with fingerprint',
  'ssh-certificate': 'SSH authority named',
};

/** A policy with the keys that the policy currently covers. */
export interface CoveringPolicy {
  readonly policy: ApprovalPolicy;
  readonly coveredKeys: readonly string[];
}

interface NamedGroup {
  readonly id: string;
  readonly name: string;
}

/** PolicyChecks checks whether a policy can be satisfied: its keys exist, and its groups have enough members. */
@Injectable()
export class PolicyChecks {
  constructor(
    private readonly subjects: ApprovalSubjectsService,
    private readonly evaluation: PolicyEvaluation,
  ) {}

  /**
   * Returns the stages in stored form. The groups are locked against changes until the transaction of the policy commits. Stages and keys that the
   * policy had before are not checked again.
   *
   * @throws Problem `approval-policy.stage` or `approval-policy.key`.
   */
  async stagesOf(
    tx: EntityManager,
    order: PolicyOrder,
    logged: RightsHistory,
    before?: ApprovalPolicy,
  ): Promise<PolicyStage[]> {
    const stages = await this.known(tx, order, logged);
    for (const [i, stage] of stages.entries()) {
      const isKept = before?.stages.some(
        ({ groupId, threshold }) => groupId === stage.groupId && threshold >= stage.threshold,
      );
      if (isKept !== true) await assertReachable(tx, stage, i);
    }
    await this.assertKeysThere(tx, order, before);
    return stages;
  }

  /** Returns the policy with the keys that the policy currently covers, which include the successors of replaced keys. */
  async covering(policy: ApprovalPolicy): Promise<CoveringPolicy> {
    const { subject, keys } = policy;
    if (keys.includes(WHOLE)) return { policy, coveredKeys: [WHOLE] };
    return { policy, coveredKeys: (await this.subjects.of(subject).keysCovered?.(keys)) ?? keys };
  }

  /** Returns the current rights according to the log. Call this method before the transaction of a change starts, because the transaction holds a lock. */
  logged(): Promise<RightsHistory> {
    return this.evaluation.logged();
  }

  assertNewest(tx: EntityManager, logged: RightsHistory): Promise<void> {
    return this.evaluation.assertNewest(tx, logged);
  }

  /** Invalidates the cached policies, so that the next evaluation reads the policies again. */
  changed(revision?: number): void {
    this.evaluation.forget(revision);
  }

  private async known(tx: EntityManager, { stages }: PolicyOrder, logged: RightsHistory): Promise<PolicyStage[]> {
    const names = stages.map(({ group }) => group);
    const groups: NamedGroup[] = await tx.query(
      `SELECT id, name FROM approver_group WHERE id = ANY($1::uuid[]) OR name = ANY($2::text[]) ORDER BY id FOR SHARE`,
      [names.filter(isId), names],
    );
    assertNamed(tx, groups, logged);
    const found = stages.map(({ group, threshold }, i): PolicyStage => {
      const one = groups.find(({ id, name }) => id === group.toLowerCase() || name === group);
      if (one === undefined)
        throw wrong(STAGE, `/stages/${i}/group`, `no approver group has the name or ID "${group}"`);
      return { groupId: one.id, threshold };
    });
    const twice = found.findIndex(({ groupId }, i) => found.findIndex((one) => one.groupId === groupId) < i);
    if (twice !== -1)
      throw wrong(STAGE, `/stages/${twice}/group`, 'the group already has a stage; raise its threshold instead');
    return found;
  }

  private async assertKeysThere(
    tx: EntityManager,
    { subject, keys }: PolicyOrder,
    before?: ApprovalPolicy,
  ): Promise<void> {
    const kept = before?.subject === subject ? [WHOLE, ...before.keys] : [WHOLE];
    const names = keys.filter((name) => !kept.includes(name));
    const [unknown] = names.length === 0 ? [] : ((await this.subjects.of(subject).unknownKeys?.(tx, names)) ?? []);
    if (unknown === undefined) return;
    const detail = `there is no ${NAMED[subject]} "${unknown}"; correct the name, or use "${WHOLE}" for every key, including future ones`;
    throw wrong('approval-policy.key', `/keys/${keys.indexOf(unknown)}`, detail);
  }
}

/** Verifies that groups have the names recorded in the audit log: policies may refer to groups by name, and rows of groups have no seal. */
function assertNamed(tx: EntityManager, groups: readonly NamedGroup[], logged: RightsHistory): void {
  if (!sealsOf(tx).isStrict) return;
  for (const { id, name } of groups) {
    const known = logged.groups.get(id)?.name;
    if (known === name) continue;
    const other = known === undefined ? 'is not in the audit log' : `is named "${known}" in the audit log`;
    const detail = `Approver group ${id} is named "${name}" in the database, but ${other}. The row was modified outside the service. Rename the group in the console or with the API.`;
    throw new Problem('conflict', 'row.not-sealed', detail);
  }
}

async function assertReachable(tx: EntityManager, { groupId, threshold }: PolicyStage, index: number): Promise<void> {
  const count = await approversIn(tx, groupId);
  if (count >= threshold) return;
  const detail = `the group has ${count} members who can approve, but ${threshold} approvals are required; add members, or lower the threshold`;
  throw wrong(STAGE, `/stages/${index}/threshold`, detail);
}

const STAGE = 'approval-policy.stage';

function wrong(code: string, pointer: string, detail: string): Problem {
  return new Problem('refused', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
