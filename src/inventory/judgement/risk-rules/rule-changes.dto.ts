import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Length, Matches, Max, Min } from 'class-validator';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { Flag, JsonObject, ListOf, Nested, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { Problem } from '../../../platform/errors/problem.js';
import { AXES, type Axis, type Level, LEVELS } from '../../model/risk-verdict.js';
import type { RiskRuleSet } from '../risk/risk-rule-set.entity.js';
import type { RuleChange } from './rule-changes.service.js';
import type { Rule } from '../../model/rule-set.js';
import type { RuleTrialResult } from './rule-trial.js';
import { LevelCountsView } from '../../catalogue/analytics/analytics.dto.js';

const RULE_ID = /^[A-Z][A-Z0-9.-]{1,63}$/;

export class RuleIdParam {
  /** @example Q-RSA-SIG-112 */
  @Matches(RULE_ID) ruleId: string;
}

export class RulesVersionParam {
  /** @example 3 */
  @Type(() => Number) @IsInt() @Min(1) @Max(2_000_000_000) version: number;
}

export class DeadlineBody {
  /** Last day of the previous state. @example 2030-12-31 */
  @Matches(/^\d{4}-\d{2}-\d{2}$/) date: string;
  /** @example deprecated */
  @Text(1, 100) state: string;
  /** @example 'internal rule 7' */
  @Text(1, 300) authority: string;
  /** Section and scope within the document. @example '§2' */
  @Optional(Text(1, 300)) provision?: string;
  /** @example ACME */
  @Text(1, 50) jurisdiction: string;
  /** @example true */
  @Flag() binding: boolean;
  /** @example false */
  @Flag() draft: boolean;
  /** Organizations, plans or acquisitions to which the date is limited. A limited date is never an asset's deadline. @example 'new acquisitions' */
  @Optional(Text(1, 300)) appliesTo?: string;
  /** False if the deadline was not checked against the primary source. Defaults to true. @example true */
  @Optional(Flag()) verified?: boolean;
  /** Link to the document (http or https). @example https://wiki.example.org/internal-rules */
  @IsOptional() @Matches(/^https?:\/\/\S+$/) @Length(1, 500) url?: string;
}

export class RuleBody {
  @OneOf([...AXES, 'both'], { example: 'quantum' }) axis: Axis | 'both';
  /** Condition under which the rule applies to an asset. */
  @JsonObject(20_000, { example: { family: ['RSA'], bits: [0, 3071] } }) match: Record<string, unknown>;
  /** @example quantum-vulnerable */
  @Text(1, 100) status: string;
  @OneOf(LEVELS, { example: 'HIGH' }) level: Level;
  /** @example 'RSA is being phased out by 2028' */
  @Text(1, 1000) reason: string;
  /** @example ["internal rule 7"] */
  @ListOf(Text(1, 300), { max: 20 }) standards: string[];
  @ListOf(DeadlineBody, { max: 50 }) deadlines: DeadlineBody[];
  /** Recommended replacement. @example ML-DSA-65 */
  @Optional(Text(1, 300)) target?: string;
  /** Whether the rule was checked against the primary source. @example true */
  @Flag() verified: boolean;

  toRule(id: string): Rule {
    const { axis, match, status, level, reason, standards, deadlines, target = null, verified } = this;
    return { id, axis, match, status, level, reason, standards, deadlines, target, verified };
  }
}

export class TestRuleBody {
  /** @example Q-RSA-SIG-112 */
  @Matches(RULE_ID) id: string;
  /** New rule. If omitted, the effect of deleting the rule is tested. */
  @Optional(Nested(RuleBody)) rule?: RuleBody;

  toChange(): RuleChange {
    if (this.rule === undefined) return { remove: this.id };
    if (!(this.rule instanceof RuleBody))
      throw new Problem('malformed', 'request.invalid', '/rule: must be an object.');
    return { put: this.rule.toRule(this.id) };
  }
}

class ShortVerdictView {
  level: Level;
  /** @example Q-RSA-SIG-112 */
  rule: string | null;
}

export class TrialExampleView {
  /** @example RSA */
  family: string | null;
  before: ShortVerdictView;
  after: ShortVerdictView;
  /** Number of assets with the same facts. @example 120 */
  assets: number;
}

export class TrialView {
  /** Number of assets whose verdict would change. @example 120 */
  changedAssets: number;
  /** Assets that would change, by current level. */
  before: LevelCountsView;
  /** Assets that would change, by level after the change. */
  after: LevelCountsView;
  /** Largest groups of assets that would change. */
  examples: TrialExampleView[];

  static of(row: RuleTrialResult): TrialView {
    const { examples } = row;
    const shown = examples.map(({ family, before: old, after: next, assets }) => ({
      family,
      before: old,
      after: next,
      assets,
    }));
    return viewOf(TrialView, row, { examples: shown });
  }
}

export class ReclassificationView {
  /** Version of the rules. @example 3 */
  version: number;
  @ApiProperty({ enum: ['JUDGING', 'DONE'] }) status: 'JUDGING' | 'DONE';
  /** ID of the changed rule, or `name:` followed by the algorithm name that was defined or deleted. @example Q-RSA-SIG-112 */
  changedRule: string;
  /** Number of sets of facts to classify. @example 340 */
  total: number;
  /** @example 200 */
  judged: number;
  /** Number of assets whose verdict has changed so far. @example 120 */
  changedAssets: number;
  /** @example 2026-11-20T12:00:00Z */
  createdAt: Date;
  /** @example 2026-11-20T12:00:04Z */
  finishedAt: Date | null;

  static of(row: RiskRuleSet): ReclassificationView {
    return viewOf(ReclassificationView, row);
  }
}
