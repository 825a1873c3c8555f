import { Injectable } from '@nestjs/common';
import { IsOptional, IsString, Length } from 'class-validator';
import type { Scope } from '../../../access/scopes.js';
import { checkedBody } from '../../../platform/http/validation.js';
import { type RunEnd, type ScheduleTarget, ScheduleTargets } from '../../../platform/events/schedule-targets.js';
import { type Evaluated, PolicyJudge } from './policy-judge.service.js';

class PolicyCheckSettings {
  /** ID of a policy pack. */
  @IsString()
  @Length(1, 100)
  pack: string;

  /** Query that selects the assets; undefined for the whole inventory. */
  @IsOptional()
  @IsString()
  @Length(1, 2000)
  scope?: string;
}

/**
 * PolicyCheckTarget runs `policy-check` schedules: it evaluates the inventory against a policy pack as of today and records alert events about new and resolved
 * violations.
 */
@Injectable()
export class PolicyCheckTarget implements ScheduleTarget {
  readonly scope = 'inventory:read' satisfies Scope;

  constructor(
    private readonly judge: PolicyJudge,
    targets: ScheduleTargets,
  ) {
    targets.serve('policy-check', this);
  }

  /** Evaluates the pack once, because a pack that cannot be evaluated must not be scheduled. */
  async check(settings: Record<string, unknown>): Promise<void> {
    await this.evaluate(settings);
  }

  async carryOut(settings: Record<string, unknown>): Promise<RunEnd> {
    const { scope, ...evaluated } = await this.evaluate(settings);
    const violated = evaluated.results.filter(({ score }) => score !== null && score < 1).length;
    return {
      ok: true,
      detail: `${violated} of ${evaluated.results.length} requirements of ${evaluated.pack.name} are violated`,
      commit: (tx) => this.judge.recordEvents(tx, { ...evaluated, scope }),
    };
  }

  private async evaluate(settings: Record<string, unknown>): Promise<Evaluated & { readonly scope?: string }> {
    const { pack, scope } = await checkedBody(PolicyCheckSettings, settings, '/settings');
    return { ...(await this.judge.evaluate({ pack, scope, reviews: [] })), scope };
  }
}
