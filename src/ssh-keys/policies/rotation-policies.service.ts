import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { type Caller, orderedBy } from '../../access/caller.js';
import { peopleBehind } from '../../auth/rights/secret-disclosures.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { factsOf } from './logged-policy.js';
import { HeldBackKey, RotationPolicy } from './rotation-policy.entity.js';

export type NewRotationPolicy = Pick<RotationPolicy, 'name' | 'maxAgeDays' | 'keyOwner' | 'mostPerHour' | 'settings'>;

/** ShownHeldBackKey is a key that a policy did not rotate. */
export interface ShownHeldBackKey {
  readonly keyId: string;
  readonly fingerprint: string;
  readonly code: string;
  readonly detail: string;
  readonly since: Date;
}

const MAX_HELD_BACK_SHOWN = 20;

/** RotationPoliciesService manages age-based rotation policies. */
@Injectable()
export class RotationPoliciesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  async create(caller: Caller, order: NewRotationPolicy, use?: IdempotentUse): Promise<RotationPolicy> {
    const id = use?.resource ?? newId();
    return this.write(order, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return this.get(earlier, tx);
      const signed = { ...order, ...(await signature(tx, caller)) };
      await tx.insert(RotationPolicy, { ...signed, id });
      await this.audit.appendBy(tx, caller, entry('ssh-rotation-policy.created', id, factsOf(signed)));
      return this.get(id, tx);
    });
  }

  /**
   * Replaces a policy. The policy then requests rotations on behalf of the caller. A paused policy is resumed. Rotations in progress continue, and the next due
   * time remains unchanged.
   */
  async change(caller: Caller, id: string, version: number, order: NewRotationPolicy): Promise<RotationPolicy> {
    return this.write(order, async (tx) => {
      const signed = { ...order, ...(await signature(tx, caller)) };
      const changes = { ...signed, pausedBecause: null, version: version + 1 };
      const { affected } = await tx.update(RotationPolicy, { id, version }, changes);
      const policy = await this.get(id, tx);
      if (affected !== 1) throw staleProblem(`/v1/rotation-policies/${id}`);
      await this.audit.appendBy(tx, caller, entry('ssh-rotation-policy.changed', id, factsOf(signed)));
      return policy;
    });
  }

  async get(id: string, tx: EntityManager = this.db.manager): Promise<RotationPolicy> {
    const policy = await tx.findOneBy(RotationPolicy, { id });
    if (policy !== null) return policy;
    throw missing('rotation-policy');
  }

  /** Returns policies, newest first. */
  async list(page: PageQuery): Promise<Page<RotationPolicy>> {
    return this.cursors.newest('ssh-rotation-policies', this.db.createQueryBuilder(RotationPolicy, 'policy'), page);
  }

  /** Returns the keys that the policies did not rotate, and the reasons, grouped by policy ID. */
  async heldBack(policies: readonly RotationPolicy[]): Promise<Map<string, ShownHeldBackKey[]>> {
    const rows: (ShownHeldBackKey & { policyId: string })[] = await this.db.query(
      `SELECT b.policy_id AS "policyId", b.key_id AS "keyId", k.fingerprint, b.code, b.detail, b.since
       FROM unnest($1::uuid[]) AS p(id) CROSS JOIN LATERAL (
         SELECT * FROM ssh_rotation_held_back WHERE policy_id = p.id ORDER BY since DESC, key_id LIMIT ${MAX_HELD_BACK_SHOWN}) b
         JOIN ssh_key k ON k.id = b.key_id`,
      [policies.map(({ id }) => id)],
    );
    return Map.groupBy(rows, ({ policyId }) => policyId);
  }

  /** Removes a policy. Rotations in progress continue. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { name } = await this.get(id, tx);
      const { affected } = await tx.delete(RotationPolicy, { id });
      await tx.delete(HeldBackKey, { policyId: id });
      // If no row was deleted, another caller has removed the policy and added the audit entry.
      if (affected === 1) await this.audit.appendBy(tx, caller, entry('ssh-rotation-policy.removed', id, { name }));
    });
  }

  private async write<T>({ name }: NewRotationPolicy, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const detail = `A policy named "${name}" already exists.`;
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    return writeUnique(this.db, work, () => new Problem('conflict', 'rotation-policy.name-taken', detail, { errors }));
  }
}

/** Returns the author on whose behalf a policy requests rotations. */
async function signature(tx: EntityManager, caller: Caller): Promise<Pick<RotationPolicy, 'madeBy' | 'ownerId'>> {
  return { madeBy: orderedBy(caller, await peopleBehind(tx, caller)), ownerId: caller.ownerId };
}

function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'ssh-rotation-policy', id }, detail };
}
