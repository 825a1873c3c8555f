import { changeSealed, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { faultOfGrant } from '../../access/key-patterns.js';
import { scopesBeyond } from '../../access/scopes.js';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import { Config } from '../../platform/config/config.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { isId, newId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { NamedPageQuery } from '../../platform/http/page.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { peopleBehind } from '../rights/secret-disclosures.js';
import { assertTenant } from './trust-rules.js';
import { WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';

export type WorkloadTrustOrder = Pick<
  WorkloadTrust,
  | 'name'
  | 'issuerId'
  | 'conditions'
  | 'pullRequests'
  | 'scopes'
  | 'keys'
  | 'lifeSeconds'
  | 'dpopBound'
  | 'certificateBound'
  | 'enabled'
> & {
  /** Audience of the tokens; defaults to the URL of this service. */
  readonly audience: string | undefined;
};

/** WorkloadTrustsService manages workload trusts. A change to a trust revokes the access tokens that were issued before the change, within five seconds. */
@Injectable()
export class WorkloadTrustsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly config: Config,
    private readonly idempotency: IdempotencyKeys,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('workload-trust');
  }

  /** Creates a trust. The tokens of a trust are limited to the rights of the last person who created or changed the trust. */
  async create(caller: Caller, order: WorkloadTrustOrder, use?: IdempotentUse): Promise<WorkloadTrust> {
    const id = use?.resource ?? newId();
    return this.write(order.name, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return this.read(earlier, tx);
      const values = await this.valuesOf(tx, caller, order);
      await insertSealed(tx, WorkloadTrust, { id, ...values, changedBy: await peopleBehind(tx, caller) });
      await this.record(tx, caller, 'workload-trust.created', id, { ...values });
      return this.read(id, tx);
    });
  }

  async change(caller: Caller, id: string, revision: number, order: WorkloadTrustOrder): Promise<WorkloadTrust> {
    return this.write(order.name, async (tx) => {
      const before = await this.read(id, tx);
      const values = await this.valuesOf(tx, caller, order);
      const earlier = [...(before.changedBy ?? []), before.ownerId, ...(before.behind ?? [])];
      const changedBy = [...new Set([...earlier, ...(await peopleBehind(tx, caller))])].sort();
      const change = { ...values, conditions: values.conditions as never, revision: revision + 1, changedBy };
      const changed = await changeSealed(tx, WorkloadTrust, { id, revision }, { ...change, updatedAt: () => 'now()' });
      if (changed !== 1) throw staleProblem(`/api/settings/workload-trusts/${id}`);
      await this.record(tx, caller, 'workload-trust.changed', id, { ...values });
      return this.read(id, tx);
    });
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { name } = await this.read(id, tx);
      await tx.delete(WorkloadTrust, { id });
      await this.record(tx, caller, 'workload-trust.removed', id, { name });
    });
  }

  async read(id: string, tx: EntityManager = this.db.manager): Promise<WorkloadTrust> {
    const trust = await tx.findOneBy(WorkloadTrust, { id });
    if (trust !== null) return trust;
    throw missing('workload-trust');
  }

  /** Returns trusts, newest first. */
  list(page: NamedPageQuery): Promise<Page<WorkloadTrust>> {
    return this.cursors.newestNamed('workload-trusts', this.db.createQueryBuilder(WorkloadTrust, 'trust'), page);
  }

  private async valuesOf(tx: EntityManager, caller: Caller, order: WorkloadTrustOrder) {
    const beyond = scopesBeyond(caller.scopes, order.scopes);
    if (beyond.length > 0) {
      const detail = `You cannot grant permissions that you do not have: ${beyond.join(', ')}.`;
      throw new Problem('forbidden', 'workload-trust.beyond-caller', detail);
    }
    const fault = faultOfGrant(caller, order.keys);
    if (fault !== undefined) throw new Problem('forbidden', 'workload-trust.beyond-caller', fault);
    if (isId(order.name)) {
      // Policies match the fact "trust" against both the name and the ID of a trust.
      const errors = [{ pointer: '/name', detail: 'must not be formatted as a UUID' }];
      throw new Problem('malformed', 'request.invalid', '/name: must not be formatted as a UUID.', { errors });
    }
    const lock = { mode: 'pessimistic_read' } as const;
    const issuer = await tx.findOne(WorkloadIssuer, { where: { id: order.issuerId }, lock });
    if (issuer === null) {
      const errors = [{ pointer: '/issuerId', detail: `no workload issuer has the ID "${order.issuerId}"` }];
      throw new Problem(
        'refused',
        'workload-trust.issuer',
        `/issuerId: no workload issuer has the ID "${order.issuerId}".`,
        { errors },
      );
    }
    assertTenant(issuer.issuer, order.conditions);
    const others = [...(caller.behind ?? [])].sort();
    return {
      ...order,
      audience: order.audience ?? this.config.publicUrl,
      ownerId: caller.ownerId,
      behind: others.length === 0 ? null : others,
    };
  }

  private write(name: string, work: (tx: EntityManager) => Promise<WorkloadTrust>): Promise<WorkloadTrust> {
    const taken = () =>
      new Problem('conflict', 'workload-trust.name-taken', `A workload trust named "${name}" already exists.`);
    return writeUnique(this.db, work, taken);
  }
}
