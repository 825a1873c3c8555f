import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { isId, newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/unique-write.js';
import { Happenings } from '../../platform/events/happenings.js';
import { Problem } from '../../platform/http/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { Clock } from '../../platform/time/clock.js';
import { conditionsOf } from '../assets/asset-filter.js';
import { PolicyPackRow, PolicyScope } from './attestation.entity.js';
import { type Evaluation, PolicyEvaluator, type Review } from './policy-evaluator.js';
import { endedHappenings, type JudgedPolicy, policyHappenings } from './policy-happenings.js';
import { PACKS, type PolicyPack, type PolicyRequirement } from './policy-pack.js';

const MOST_PACKS = 200;
const FIRST = 1;

export type PolicyPackOrder = Omit<PolicyPack, 'id' | 'revision'>;

export interface EvaluateOrder {
  readonly pack: string;
  readonly scope?: string;
  /** YYYY-MM-DD; today otherwise. */
  readonly asOf?: string;
  readonly reviews: readonly Review[];
}

export interface Evaluated extends Evaluation {
  readonly pack: PolicyPack;
  readonly asOf: string;
  /** When it was looked at. */
  readonly at: Date;
}

/** Keeps policy packs, those of the product and those of its users, and holds the inventory against them. */
@Injectable()
export class PolicyPacksService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly evaluator: PolicyEvaluator,
    private readonly clock: Clock,
    private readonly happenings: Happenings,
  ) {}

  /** Those of the product first. */
  async list(): Promise<PolicyPack[]> {
    const rows = await this.db.manager.find(PolicyPackRow, { order: { name: 'ASC' }, take: MOST_PACKS });
    return [...PACKS, ...rows.map(({ pack, revision }) => ({ ...pack, revision }))];
  }

  /** @throws Problem 404 `policy-pack.missing`. */
  async get(id: string): Promise<PolicyPack> {
    const pack = (await this.list()).find((one) => one.id === id);
    if (pack === undefined) throw missing();
    return pack;
  }

  /** @throws Problem 400 `query.invalid`, 409 `policy-pack.name`. */
  async add(caller: Caller, order: PolicyPackOrder): Promise<PolicyPack> {
    const pack = { id: newId(), ...order };
    await this.write(order, async (tx) => {
      if ((await tx.count(PolicyPackRow)) >= MOST_PACKS)
        throw new Problem(
          'conflict',
          'policy-pack.limit',
          `There are ${MOST_PACKS} policy packs already; remove one first.`,
        );
      await tx.insert(PolicyPackRow, { id: pack.id, name: pack.name, pack, createdBy: caller.id });
      await this.record(tx, caller, 'created', pack.id, { pack });
    });
    return { ...pack, revision: FIRST };
  }

  /**
   * What attestations say of it stays: they keep the pack as it was, and name its version, so that a change has another.
   *
   * @throws Problem 400 `query.invalid`, 409 `policy-pack.name`, `policy-pack.product`, `policy-pack.version`, 412 when it was changed since `revision`.
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
      await this.record(tx, caller, 'changed', id, { pack });
    });
    return { ...pack, revision: revision + 1 };
  }

  /** Its attestations stay. @throws Problem 404 `policy-pack.missing`, 409 `policy-pack.product`. */
  async remove(caller: Caller, id: string): Promise<void> {
    assertOwn(id);
    await this.db.transaction(async (tx) => {
      const { name, pack } = await packIn(tx, id);
      await tx.delete(PolicyPackRow, { id });
      await this.end(tx, pack, []);
      await tx.delete(PolicyScope, { packId: id });
      await this.record(tx, caller, 'removed', id, { name });
    });
  }

  /** Changes nothing. @throws Problem 404 `policy-pack.missing`, 400 `query.invalid`. */
  async evaluate({ pack: id, scope, asOf, reviews }: EvaluateOrder): Promise<Evaluated> {
    const pack = await this.get(id);
    const checked = new Set(
      pack.requirements.filter(({ check }) => check.kind === 'review').map(({ identifier }) => identifier),
    );
    const wrong = reviews.findIndex(({ identifier }) => !checked.has(identifier));
    if (wrong >= 0) {
      const detail = 'names no requirement that a person judges';
      const errors = [{ pointer: `/reviews/${wrong}/identifier`, detail }];
      throw new Problem('malformed', 'request.invalid', `/reviews/${wrong}/identifier: ${detail}.`, { errors });
    }
    const at = this.clock.now();
    const day = asOf ?? dayOf(at);
    return { pack, asOf: day, at, ...(await this.evaluator.evaluate({ pack, scope, day, reviews })) };
  }

  /** Tells people how the policy stands. Of a pack that was changed or removed since it was read nothing is told: what nobody asks for any more has ended. */
  async tell(tx: EntityManager, judged: JudgedPolicy): Promise<void> {
    const { pack, scope } = judged;
    if (isOwn(pack.id)) {
      const row = await tx.findOne(PolicyPackRow, { where: { id: pack.id }, lock: { mode: 'pessimistic_read' } });
      if (row?.revision !== pack.revision) return;
      if (scope !== undefined)
        await tx.query(
          `INSERT INTO policy_scope (pack_id, digest, scope) VALUES ($1, sha256(convert_to($2, 'UTF8')), $2)
           ON CONFLICT DO NOTHING`,
          [pack.id, scope],
        );
    }
    await this.happenings.tell(tx, policyHappenings(judged));
  }

  private async write(
    { name, requirements }: PolicyPackOrder,
    work: (tx: EntityManager) => Promise<void>,
  ): Promise<void> {
    for (const { check } of requirements)
      if (check.kind === 'query') conditionsOf({ q: check.q }, 'a', this.clock.now());
    const taken = () => new Problem('conflict', 'policy-pack.name', 'There is a policy pack of this name.');
    if (PACKS.some((pack) => pack.name === name)) throw taken();
    await writeUnique(this.db, work, taken);
  }

  /** Nobody is to be kept waiting for what is not asked for any more, wherever it was asked for. */
  private async end(tx: EntityManager, pack: PolicyPack, left: readonly PolicyRequirement[]): Promise<void> {
    const kept = new Set(left.map(({ identifier }) => identifier));
    const gone = pack.requirements.map(({ identifier }) => identifier).filter((identifier) => !kept.has(identifier));
    if (gone.length === 0) return;
    const scopes = await tx.findBy(PolicyScope, { packId: pack.id });
    await this.happenings.tell(tx, endedHappenings(pack, gone, [null, ...scopes.map(({ scope }) => scope)]));
  }

  private record(
    tx: EntityManager,
    caller: Caller,
    what: 'created' | 'changed' | 'removed',
    id: string,
    detail: Record<string, unknown>,
  ): Promise<void> {
    const target = { kind: 'policy-pack', id };
    return this.audit.appendBy(tx, caller, { action: `inventory.policy-pack-${what}`, target, detail });
  }
}

/** Until it is changed or removed by nobody else. */
async function packIn(tx: EntityManager, id: string): Promise<PolicyPackRow> {
  const row = isId(id) ? await tx.findOne(PolicyPackRow, { where: { id }, lock: { mode: 'pessimistic_write' } }) : null;
  if (row === null) throw missing();
  return row;
}

function isOwn(id: string): boolean {
  return !PACKS.some((pack) => pack.id === id);
}

function assertOwn(id: string): void {
  if (isOwn(id)) return;
  const detail = 'This policy pack comes with the product and stays as it is; add one of your own.';
  throw new Problem('conflict', 'policy-pack.product', detail);
}

function sameVersion(version: string): Problem {
  const errors = [{ pointer: '/version', detail: 'is that of what stands' }];
  const detail = `Attestations name version ${version} of this policy pack as it stands: give the change another.`;
  return new Problem('conflict', 'policy-pack.version', detail, { errors });
}

function missing(): Problem {
  return new Problem('missing', 'policy-pack.missing', 'There is no policy pack with this id.');
}

/** YYYY-MM-DD. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
