import { ApiProperty } from '@nestjs/swagger';
import type { NumberedRules } from '../risk/rule-book.js';
import type { Rule } from '../../model/rule-set.js';
import { AXES, LEVELS, type Axis, type Level } from '../../model/risk-verdict.js';

export class DeadlineView {
  /** Last day of the previous state. @example 2030-12-31 */
  date: string;
  /** @example deprecated */
  state: string;
  /** Document that sets the deadline. @example "NIST IR 8547 ipd" */
  authority: string;
  /** Section and scope within the document. @example "§4.1" */
  provision?: string;
  /** @example NIST */
  jurisdiction: string;
  /** Whether the deadline is binding rather than advisory. */
  binding: boolean;
  /** Whether the document is a draft. */
  draft: boolean;
  /**
   * Plans, acquisitions or organizations to which the date is limited. A limited date is never an asset's deadline.
   * @example "new acquisitions for National Security Systems"
   */
  appliesTo?: string;
  /** False if the deadline was not checked against the primary source. */
  verified?: boolean;
  /** Link to the document. @example "https://csrc.nist.gov/pubs/ir/8547/ipd" */
  url?: string;
}

export class RuleView {
  /** @example Q-RSA-SIG-112 */
  id: string;
  @ApiProperty({ enum: [...AXES, 'both'] }) axis: Axis | 'both';
  /** Conditions under which the rule applies to an asset: lists of values, ranges in bits, or null for "not declared". */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { family: ['RSA'] } })
  match: Record<string, unknown>;
  /** @example quantum-vulnerable */
  status: string;
  level: Level;
  /** @example "Shor breaks it in polynomial time" */
  reason: string;
  /** @example ["NIST IR 8547"] */
  standards: string[];
  deadlines: DeadlineView[];
  /** Recommended replacement. @example ML-DSA-65 */
  target: string | null;
  /** Whether the rule was checked against the primary source for this edition. False for well-known facts. */
  verified: boolean;

  static of(rule: Rule): RuleView {
    return {
      ...rule,
      match: { ...rule.match },
      standards: [...rule.standards],
      deadlines: rule.deadlines.map((deadline) => ({ ...deadline })),
    };
  }
}

export class RulesView {
  /** Year and month as of which the facts in the rules are current. @example 2026-09 */
  edition: string;
  @ApiProperty({ enum: LEVELS, isArray: true }) levels: Level[];
  items: RuleView[];
  /** Always null: the page contains all rules. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;
  /** Version of the rules, used as the value for `If-Match`. 0 denotes the built-in rules. @example 3 */
  version: number;

  static of({ version, ruleSet: { edition, rules } }: NumberedRules): RulesView {
    return { version, edition, levels: [...LEVELS], items: rules.map((rule) => RuleView.of(rule)), nextCursor: null };
  }
}
