import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/unique-write.js';
import { Problem } from '../../platform/http/problem.js';
import { Clock } from '../../platform/time/clock.js';
import { conditionsOf } from '../assets/asset-filter.js';
import { PolicyPackRow } from './attestation.entity.js';
import { type Evaluation, PolicyEvaluator, type Review } from './policy-evaluator.js';
import { PACKS, type PolicyPack } from './policy-pack.js';

const MOST_PACKS = 200;

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
  ) {}

  /** Those of the product first. */
  async list(): Promise<PolicyPack[]> {
    const rows = await this.db.manager.find(PolicyPackRow, { order: { name: 'ASC' }, take: MOST_PACKS });
    return [...PACKS, ...rows.map(({ pack }) => pack)];
  }

  /** @throws Problem 400 `query.invalid`, 409 `policy-pack.name`. */
  async add(caller: Caller, order: Omit<PolicyPack, 'id'>): Promise<PolicyPack> {
    for (const { check } of order.requirements)
      if (check.kind === 'query') conditionsOf({ q: check.q }, 'a', this.clock.now());
    const pack = { id: newId(), ...order };
    const taken = () => new Problem('conflict', 'policy-pack.name', 'There is a policy pack of this name.');
    if (PACKS.some(({ name }) => name === pack.name)) throw taken();
    await writeUnique(
      this.db,
      async (tx) => {
        if ((await tx.count(PolicyPackRow)) >= MOST_PACKS)
          throw new Problem('conflict', 'policy-pack.limit', `There are ${MOST_PACKS} policy packs already.`);
        await tx.insert(PolicyPackRow, { id: pack.id, name: pack.name, pack, createdBy: caller.id });
        const target = { kind: 'policy-pack', id: pack.id };
        await this.audit.appendBy(tx, caller, { action: 'inventory.policy-pack-created', target, detail: { pack } });
      },
      taken,
    );
    return pack;
  }

  /** Changes nothing. @throws Problem 404 `policy-pack.missing`, 400 `query.invalid`. */
  async evaluate({ pack: id, scope, asOf, reviews }: EvaluateOrder): Promise<Evaluated> {
    const pack = (await this.list()).find((one) => one.id === id);
    if (pack === undefined)
      throw new Problem('missing', 'policy-pack.missing', 'There is no policy pack with this id.');
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
}

/** YYYY-MM-DD. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
