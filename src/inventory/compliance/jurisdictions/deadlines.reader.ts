import { Injectable } from '@nestjs/common';
import { ReadReplica } from '../../../platform/instances/read-replica.js';
import type { Deadline } from '../../model/risk-verdict.js';
import type { Rule } from '../../model/rule-set.js';
import { ACTIVE_BY_VERDICT } from '../../model/tally.js';
import { RuleBook } from '../../judgement/risk/rule-book.js';

/** DeadlineCount is a deadline with the number of affected assets. */
export interface DeadlineCount {
  readonly deadline: Deadline;
  /** IDs of the rules that contain the deadline. */
  readonly rules: readonly string[];
  /** Number of active assets to which the deadline applies; null for a deadline on validity periods, because the number depends on the day. */
  readonly assets: number | null;
}

interface CountedRow {
  readonly deadline: Deadline;
  readonly assets: number;
}

/** Members that identify a deadline. */
const IDENTITY = ['date', 'state', 'authority', 'provision', 'jurisdiction', 'binding', 'draft', 'appliesTo'] as const;

/** DeadlinesReader counts assets by every deadline that applies to them, not only by the next deadline. */
@Injectable()
export class DeadlinesReader {
  constructor(
    private readonly reads: ReadReplica,
    private readonly book: RuleBook,
  ) {}

  /**
   * Returns all deadlines in the current rules, in date order. One row is read per verdict, and even a large inventory has only a few hundred verdicts. No
   * assets are read, because the running counts contain the numbers of assets.
   */
  async counts(): Promise<DeadlineCount[]> {
    const { ruleSet } = await this.book.current();
    const counts = new Map<string, DeadlineCount>();
    for (const rule of ruleSet.rules) for (const deadline of rule.deadlines) addRule(counts, rule, deadline);
    for (const { deadline, assets } of await this.rows()) {
      const key = keyOf(deadline);
      const known = counts.get(key) ?? { deadline, rules: [] };
      counts.set(key, { ...known, assets });
    }
    const order = ({ deadline }: DeadlineCount) => `${deadline.date} ${deadline.authority} ${deadline.state}`;
    return [...counts.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  private rows(): Promise<CountedRow[]> {
    const members = IDENTITY.map((name) => `'${name}', d -> '${name}'`).join(', ');
    return this.reads.db.query(
      `SELECT d.deadline, sum(c.count)::int AS assets FROM (${ACTIVE_BY_VERDICT}) c JOIN risk_verdict v USING (id)
       CROSS JOIN LATERAL (
         SELECT DISTINCT jsonb_strip_nulls(jsonb_build_object(${members})) AS deadline
         FROM jsonb_array_elements(v.verdict -> 'findings') AS f, jsonb_array_elements(f -> 'deadlines') AS d) d
       GROUP BY d.deadline`,
    );
  }
}

function addRule(counts: Map<string, DeadlineCount>, { id, axis }: Rule, deadline: Deadline): void {
  const key = keyOf(deadline);
  const known = counts.get(key);
  const assets = axis === 'lifecycle' ? (known?.assets ?? null) : 0;
  counts.set(key, { deadline: known?.deadline ?? deadline, rules: [...(known?.rules ?? []), id], assets });
}

function keyOf(deadline: Deadline): string {
  return JSON.stringify(IDENTITY.map((name) => deadline[name] ?? null));
}
