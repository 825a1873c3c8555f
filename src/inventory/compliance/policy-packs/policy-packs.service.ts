import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { isId, newId } from '../../../platform/database/new-id.js';
import { writeUnique } from '../../../platform/errors/database-error.js';
import { recordAlertEvents } from '../../../platform/events/alert-events.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { staleProblem } from '../../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import { Clock } from '../../../platform/work/clock.js';
import { conditionsOf } from '../../catalogue/assets/asset-filter.js';
import { PolicyPackRow, PolicyScope } from './attestation.entity.js';
import { endedAlertEvents } from './policy-alert-events.js';
import { PACKS, type PolicyPack, type PolicyRequirement } from './policy-pack.js';

const MAX_PACKS = 200;

export type PolicyPackOrder = Omit<PolicyPack, 'id' | 'revision'>;

/** PolicyPacksService manages the built-in and custom policy packs. */
@Injectable()
export class PolicyPacksService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    audit: AuditService,
    private readonly clock: Clock,
    private readonly idempotency: IdempotencyKeys,
  ) {
    this.record = audit.recorderFor('policy-pack');
  }

  /** Returns all policy packs, starting with the built-in packs. */
  async list(): Promise<PolicyPack[]> {
    const rows = await this.db.manager.find(PolicyPackRow, { order: { name: 'ASC' }, take: MAX_PACKS });
    return [...PACKS, ...rows.map(({ pack, revision }) => ({ ...pack, revision }))];
  }

  /** @throws Problem 404 `policy-pack.missing`. */
  async get(id: string): Promise<PolicyPack> {
    const pack = (await this.list()).find((one) => one.id === id);
    if (pack === undefined) throw missing('policy-pack');
    return pack;
  }

  /** @throws Problem 400 `query.invalid`, 409 `policy-pack.name`. */
  async add(caller: Caller, order: PolicyPackOrder, use?: IdempotentUse): Promise<PolicyPack> {
    const pack = { id: use?.resource ?? newId(), ...order };
    const added = await this.write(order, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      if ((await tx.count(PolicyPackRow)) >= MAX_PACKS)
        throw new Problem(
          'conflict',
          'policy-pack.limit',
          `The limit of ${MAX_PACKS} policy packs is reached. Delete one first.`,
        );
      await tx.insert(PolicyPackRow, { id: pack.id, name: pack.name, pack, createdBy: caller.id });
      await this.record(tx, caller, 'inventory.policy-pack-created', pack.id, { pack });
      return pack.id;
    });
    return this.get(added);
  }

  /**
   * Replaces a policy pack. Existing attestations contain a copy of the pack and refer to its version, so a change requires a new version.
   *
   * @throws Problem 400 `query.invalid`, 409 `policy-pack.name`, `policy-pack.product`, `policy-pack.version`, 412 if the pack has changed since `revision`
   */
  async change(caller: Caller, id: string, revision: number, order: PolicyPackOrder): Promise<PolicyPack> {
    assertOwn(id);
    const pack = { id, ...order };
    await this.write(order, async (tx) => {
      const row = await packIn(tx, id);
      if (row.revision !== revision) throw staleProblem(`/api/policy-packs/${id}`);
      if (row.pack.version === order.version) throw sameVersion(order.version);
      await tx.update(PolicyPackRow, { id }, { name: pack.name, pack, revision: revision + 1 });
      await this.end(tx, row.pack, pack.requirements);
      await this.record(tx, caller, 'inventory.policy-pack-changed', id, { pack });
    });
    return { ...pack, revision: revision + 1 };
  }

  /** Deletes a policy pack. Attestations that use the pack are kept. @throws Problem 404 `policy-pack.missing`, 409 `policy-pack.product` */
  async remove(caller: Caller, id: string): Promise<void> {
    assertOwn(id);
    await this.db.transaction(async (tx) => {
      const { name, pack } = await packIn(tx, id);
      await tx.delete(PolicyPackRow, { id });
      await this.end(tx, pack, []);
      await tx.delete(PolicyScope, { packId: id });
      await this.record(tx, caller, 'inventory.policy-pack-removed', id, { name });
    });
  }

  private async write<T>({ name, requirements }: PolicyPackOrder, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const queries = requirements.flatMap(({ check }) => (check.kind === 'query' ? [check.q, check.among] : []));
    for (const q of queries) if (q !== undefined) conditionsOf({ q }, 'a', this.clock.now());
    const taken = () => new Problem('conflict', 'policy-pack.name', 'A policy pack with this name already exists.');
    if (PACKS.some((pack) => pack.name === name)) throw taken();
    return writeUnique(this.db, work, taken);
  }

  /** Resolves the alerts about requirements that have been removed from the pack, in every scope for which the pack was checked. */
  private async end(tx: EntityManager, pack: PolicyPack, left: readonly PolicyRequirement[]): Promise<void> {
    const kept = new Set(left.map(({ identifier }) => identifier));
    const gone = pack.requirements.map(({ identifier }) => identifier).filter((identifier) => !kept.has(identifier));
    if (gone.length === 0) return;
    const scopes = await tx.findBy(PolicyScope, { packId: pack.id });
    await recordAlertEvents(tx, endedAlertEvents(pack, gone, [null, ...scopes.map(({ scope }) => scope)]));
  }
}

/** Returns the pack and locks it against concurrent changes until the transaction ends. */
async function packIn(tx: EntityManager, id: string): Promise<PolicyPackRow> {
  const row = isId(id) ? await tx.findOne(PolicyPackRow, { where: { id }, lock: { mode: 'pessimistic_write' } }) : null;
  if (row === null) throw missing('policy-pack');
  return row;
}

export function isCustomPack(id: string): boolean {
  return !PACKS.some((pack) => pack.id === id);
}

function assertOwn(id: string): void {
  if (isCustomPack(id)) return;
  const detail = 'This policy pack is built in and cannot be changed. Create a custom policy pack instead.';
  throw new Problem('conflict', 'policy-pack.product', detail);
}

function sameVersion(version: string): Problem {
  const errors = [{ pointer: '/version', detail: 'is the version of the current pack' }];
  const detail = `Attestations refer to version ${version} of this policy pack. Use a new version for the change.`;
  return new Problem('conflict', 'policy-pack.version', detail, { errors });
}
