import { changeSealed, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { NamedPageQuery } from '../../platform/http/page.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { ApprovalPolicy, type PolicyOrder } from './approval-policy.entity.js';
import { PolicyChecks } from './policy-checks.js';
import { lockPolicySet, storePolicySet } from './policy-set.js';
import { policyWarningsOf } from './policy-warnings.js';

/** An exception that never holds, with the name of its policy. */
export interface IgnoredException {
  /** Name of the policy. */
  readonly policy: string;
  readonly fact: string;
}

interface PolicyChange {
  /** Revision of the policy set after the change. */
  readonly policySet: number;
  /** Rights according to the log before the change. */
  readonly logged: RightsHistory;
}

/** ApprovalPoliciesService manages the approval policies. Every change increments the revision of the policy set in the same transaction. */
@Injectable()
export class ApprovalPoliciesService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly checks: PolicyChecks,
  ) {
    this.record = audit.recorderFor('approval-policy');
  }

  async create(caller: Caller, order: PolicyOrder, use?: IdempotentUse): Promise<ApprovalPolicy> {
    const id = use?.resource ?? newId();
    return this.write(caller, order.name, async (tx, { policySet, logged }) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return this.read(earlier, tx);
      await insertSealed(tx, ApprovalPolicy, { id, ...order, stages: await this.checks.stagesOf(tx, order, logged) });
      await this.record(tx, caller, 'approval-policy.created', id, { ...order, policySet });
      return this.read(id, tx);
    });
  }

  async change(caller: Caller, id: string, revision: number, order: PolicyOrder): Promise<ApprovalPolicy> {
    return this.write(caller, order.name, async (tx, { policySet, logged }) => {
      const before = await this.read(id, tx);
      const stages = await this.checks.stagesOf(tx, order, logged, before);
      const change = { ...order, stages, revision: revision + 1, updatedAt: () => 'now()' };
      const changed = await changeSealed(tx, ApprovalPolicy, { id, revision }, change);
      if (changed !== 1) throw staleProblem(`/api/v1/approval-policies/${id}`);
      await this.record(tx, caller, 'approval-policy.changed', id, { ...order, revision: revision + 1, policySet });
      return this.read(id, tx);
    });
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.write(caller, '', async (tx, { policySet }) => {
      const { name } = await this.read(id, tx);
      await tx.delete(ApprovalPolicy, { id });
      await this.record(tx, caller, 'approval-policy.removed', id, { name, policySet });
    });
  }

  async read(id: string, tx: EntityManager = this.db.manager): Promise<ApprovalPolicy> {
    const policy = await tx.findOneBy(ApprovalPolicy, { id });
    if (policy !== null) return policy;
    throw missing('approval-policy');
  }

  /** Returns policies, newest first. */
  async list(page: NamedPageQuery): Promise<Page<ApprovalPolicy>> {
    return this.cursors.newestNamed('approval-policies', this.db.createQueryBuilder(ApprovalPolicy, 'policy'), page);
  }

  /** Returns the exceptions on facts that callers choose. Earlier versions stored such exceptions, which never hold. */
  async ignoredExceptions(): Promise<IgnoredException[]> {
    const policies = await this.db.manager.find(ApprovalPolicy, { order: { name: 'ASC' } });
    return policies.flatMap((policy) =>
      policyWarningsOf(policy)
        .filter(({ code }) => code === 'ignored-exception')
        .map(({ fact }) => ({ policy: policy.name, fact })),
    );
  }

  /** Serializes changes with a lock on the row of the policy set. */
  private async write<T>(
    caller: Caller,
    name: string,
    work: (tx: EntityManager, change: PolicyChange) => Promise<T>,
  ): Promise<T> {
    const detail = `An approval policy named "${name}" already exists.`;
    const logged = await this.checks.logged();
    let [policySet, committed] = [0, 0];
    const inLine = async (tx: EntityManager) => {
      // Locks the row before the policies are read.
      const known = await lockPolicySet(tx);
      await stillMay(tx, caller);
      await this.checks.assertNewest(tx, logged);
      policySet = known.revision + 1;
      const result = await work(tx, { policySet, logged });
      await storePolicySet(tx, known);
      return result;
    };
    try {
      const result = await writeUnique(
        this.db,
        inLine,
        () => new Problem('conflict', 'approval-policy.name-taken', detail),
      );
      committed = policySet;
      return result;
    } finally {
      this.checks.changed(committed);
    }
  }
}
