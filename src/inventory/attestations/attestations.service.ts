import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { isUniqueViolation } from '../../platform/database/database-error.js';
import { newId } from '../../platform/database/new-id.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { Problem } from '../../platform/http/problem.js';
import { Clock } from '../../platform/time/clock.js';
import { conditionsOf } from '../assets/asset-filter.js';
import { Attestation, type AttestationEvidence, PolicyPackRow } from './attestation.entity.js';
import { type Evaluation, PolicyEvaluator, type Review } from './policy-evaluator.js';
import { tellOfPolicy } from './policy-happenings.js';
import { PACKS, type PolicyPack } from './policy-pack.js';

const DAY_MS = 24 * 3600 * 1000;
const MOST_PACKS = 200;

export interface EvaluateOrder {
  readonly pack: string;
  readonly scope?: string;
  /** YYYY-MM-DD; today otherwise. */
  readonly asOf?: string;
  readonly reviews: readonly Review[];
}

export interface AttestOrder extends EvaluateOrder {
  readonly statement: string;
  /** Who looked; the caller otherwise. */
  readonly reviewer?: string;
  readonly evidence: readonly AttestationEvidence[];
  readonly expiresAt?: Date;
}

export interface Evaluated extends Evaluation {
  readonly pack: PolicyPack;
  readonly asOf: string;
}

/** Holds the inventory against policy packs, and keeps what people attest. */
@Injectable()
export class AttestationsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly evaluator: PolicyEvaluator,
    private readonly cursors: Cursors,
    private readonly clock: Clock,
  ) {}

  /** Those of the product first. */
  async packs(): Promise<PolicyPack[]> {
    const rows = await this.db.manager.find(PolicyPackRow, { order: { name: 'ASC' }, take: MOST_PACKS });
    return [...PACKS, ...rows.map(({ pack }) => pack)];
  }

  /** @throws Problem 400 `query.invalid`, 409 `policy-pack.name`. */
  async addPack(caller: Caller, order: Omit<PolicyPack, 'id'>): Promise<PolicyPack> {
    for (const { check } of order.requirements)
      if (check.kind === 'query') conditionsOf({ q: check.q }, 'a', this.clock.now());
    const pack = { id: newId(), ...order };
    const taken = new Problem('conflict', 'policy-pack.name', 'There is a policy pack of this name.');
    if (PACKS.some(({ name }) => name === pack.name)) throw taken;
    try {
      await this.db.transaction(async (tx) => {
        if ((await tx.count(PolicyPackRow)) >= MOST_PACKS)
          throw new Problem('conflict', 'policy-pack.limit', `There are ${MOST_PACKS} policy packs already.`);
        await tx.insert(PolicyPackRow, { id: pack.id, name: pack.name, pack, createdBy: caller.id });
        await this.record(tx, caller, 'inventory.policy-pack-created', { kind: 'policy-pack', id: pack.id }, { pack });
      });
    } catch (error) {
      throw isUniqueViolation(error) ? taken : error;
    }
    return pack;
  }

  /** Changes nothing. @throws Problem 404 `policy-pack.missing`, 400 `query.invalid`. */
  async evaluate({ pack: id, scope, asOf = this.today(), reviews }: EvaluateOrder): Promise<Evaluated> {
    const pack = (await this.packs()).find((one) => one.id === id);
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
    return { pack, asOf, ...(await this.evaluator.evaluate({ pack, scope, day: asOf, reviews })) };
  }

  /** @throws Problem 422 `attestation.open` while a person has yet to judge, 422 `attestation.expiry`. */
  async attest(caller: Caller, order: AttestOrder): Promise<Attestation> {
    const { pack, asOf, results, score } = await this.evaluate(order);
    const open = results.filter((result) => result.score === null).map(({ identifier }) => identifier);
    if (open.length > 0)
      throw new Problem(
        'refused',
        'attestation.open',
        `A person has yet to judge ${open.join(', ')}: say so in reviews.`,
      );
    const now = this.clock.now();
    const latest = new Date(now.getTime() + pack.reviewEveryDays * DAY_MS);
    const expiresAt = order.expiresAt ?? latest;
    if (expiresAt <= now || expiresAt > latest)
      throw new Problem('refused', 'attestation.expiry', `It may be good for ${pack.reviewEveryDays} days at most.`);
    const id = newId();
    const { scope = null, statement, evidence } = order;
    const reviewer = order.reviewer ?? caller.name;
    const what = { packId: pack.id, pack, scope, asOf, results, score };
    const said = { statement, reviewer, evidence: [...evidence], createdBy: caller.id, expiresAt };
    await this.db.transaction(async (tx) => {
      await tx.insert(Attestation, { id, ...what, ...said });
      const detail = { pack: pack.id, scope, asOf, score, reviewer, expiresAt: expiresAt.toISOString() };
      await this.record(tx, caller, 'inventory.attested', { kind: 'attestation', id }, detail);
      // How it stood, or would stand, on another day is no news.
      if (asOf === this.today()) await tellOfPolicy(tx, { pack, results, scope: order.scope });
    });
    return this.find(id);
  }

  /** @throws Problem 404 `attestation.missing`. */
  async find(id: string): Promise<Attestation> {
    const row = await this.db.manager.findOneBy(Attestation, { id });
    if (row === null) throw new Problem('missing', 'attestation.missing', 'There is no attestation with this id.');
    return row;
  }

  /** Newest first. */
  async list(pack: string | undefined, limit = DEFAULT_LIMIT, cursor?: string): Promise<Page<Attestation>> {
    const list = `attestations ${pack ?? ''}`;
    const [before] = this.cursors.read(list, cursor) ?? [];
    const query = this.db
      .createQueryBuilder(Attestation, 'a')
      .orderBy('a.id', 'DESC')
      .take(limit + 1);
    if (pack !== undefined) query.andWhere('a.packId = :pack', { pack });
    if (before !== undefined) query.andWhere('a.id < :before', { before });
    return this.cursors.page(list, await query.getMany(), limit, ({ id }) => [id]);
  }

  private today(): string {
    return this.clock.now().toISOString().slice(0, 10);
  }

  private record(
    tx: EntityManager,
    caller: Caller,
    action: string,
    target: { kind: string; id: string },
    detail: Record<string, unknown>,
  ): Promise<void> {
    return this.audit.appendBy(tx, caller, { action, target, detail });
  }
}
