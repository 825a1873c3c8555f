import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { recordAlertEvents } from '../../../platform/events/alert-events.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Clock } from '../../../platform/work/clock.js';
import { PolicyPackRow } from './attestation.entity.js';
import { type Evaluation, PolicyEvaluator, type Review } from './policy-evaluator.js';
import { type JudgedPolicy, policyAlertEvents } from './policy-alert-events.js';
import type { PolicyPack } from './policy-pack.js';
import { isCustomPack, PolicyPacksService } from './policy-packs.service.js';

export interface EvaluateOrder {
  readonly pack: string;
  readonly scope?: string;
  /** Day for which deadlines are evaluated (YYYY-MM-DD); defaults to today. */
  readonly asOf?: string;
  readonly reviews: readonly Review[];
}

export interface Evaluated extends Evaluation {
  readonly pack: PolicyPack;
  readonly asOf: string;
  /** Time of the evaluation. */
  readonly at: Date;
}

/** PolicyJudge evaluates the inventory against policy packs and records alert events. */
@Injectable()
export class PolicyJudge {
  constructor(
    private readonly packs: PolicyPacksService,
    private readonly evaluator: PolicyEvaluator,
    private readonly clock: Clock,
  ) {}

  /** Evaluates a policy pack without recording anything. @throws Problem 404 `policy-pack.missing`, 400 `query.invalid`. */
  async evaluate({ pack: id, scope, asOf, reviews }: EvaluateOrder): Promise<Evaluated> {
    const pack = await this.packs.get(id);
    const checked = new Set(
      pack.requirements.filter(({ check }) => check.kind === 'review').map(({ identifier }) => identifier),
    );
    const wrong = reviews.findIndex(({ identifier }) => !checked.has(identifier));
    if (wrong >= 0) {
      const detail = 'is not a manually assessed requirement';
      const errors = [{ pointer: `/reviews/${wrong}/identifier`, detail }];
      throw new Problem('malformed', 'request.invalid', `/reviews/${wrong}/identifier: ${detail}.`, { errors });
    }
    const at = this.clock.now();
    const day = asOf ?? dayOf(at);
    return { pack, asOf: day, at, ...(await this.evaluator.evaluate({ pack, scope, day, reviews })) };
  }

  /**
   * Records alert events about the policy. If the pack has been changed or deleted since the pack was read, no events are recorded, because the change or
   * deletion has resolved the alerts.
   */
  async recordEvents(tx: EntityManager, judged: JudgedPolicy): Promise<void> {
    const { pack, scope } = judged;
    if (isCustomPack(pack.id)) {
      const row = await tx.findOne(PolicyPackRow, { where: { id: pack.id }, lock: { mode: 'pessimistic_read' } });
      if (row?.revision !== pack.revision) return;
      if (scope !== undefined)
        await tx.query(
          `INSERT INTO policy_scope (pack_id, digest, scope) VALUES ($1, sha256(convert_to($2, 'UTF8')), $2)
           ON CONFLICT DO NOTHING`,
          [pack.id, scope],
        );
    }
    await recordAlertEvents(tx, policyAlertEvents(judged));
  }
}

/** dayOf returns the day as YYYY-MM-DD (UTC). */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
