import type { RiskSubject } from '../../model/risk-subject.js';
import type { Rule } from '../../model/rule-set.js';

export interface CompiledRule {
  readonly rule: Rule;
  readonly suite: RegExp | undefined;
  /** Position among all rules, which determines the order of findings with the same level. */
  readonly order: number;
}

const CONDITIONS = ['material', 'certificate', 'quality'] as const;

/** RuleIndex finds rules by their first condition. There are more than a hundred rules, but only a few apply to one algorithm. */
export class RuleIndex {
  private readonly byFamily = new Map<string, CompiledRule[]>();
  private readonly byHybrid = new Map<string, CompiledRule[]>();
  private readonly byCondition = new Map<string, CompiledRule[]>();
  /** Rules about algorithms of any family. */
  private readonly ofAlgorithms: CompiledRule[] = [];
  private readonly ofProtocols: CompiledRule[] = [];

  constructor(rules: readonly Rule[]) {
    for (const [order, rule] of rules.entries()) {
      const { suite } = rule.match;
      this.add({ rule, order, suite: suite === undefined ? undefined : new RegExp(suite) });
    }
  }

  /** Returns the rules that may apply to a subject, in order. */
  candidates(subject: RiskSubject): CompiledRule[] {
    const found = new Set<CompiledRule>();
    const take = (rules: readonly CompiledRule[] = []) => {
      for (const rule of rules) found.add(rule);
    };
    for (const { family, hybrid } of subject.ingredients) {
      if (hybrid !== null) take(this.byHybrid.get(hybrid));
      else take(this.byFamily.get(family));
    }
    if (subject.ingredients.length > 0) take(this.ofAlgorithms);
    if (subject.protocol !== undefined) take(this.ofProtocols);
    for (const kind of CONDITIONS)
      for (const condition of subject[kind] ?? []) take(this.byCondition.get(`${kind} ${condition}`));
    return [...found].sort((a, b) => a.order - b.order);
  }

  private add(compiled: CompiledRule): void {
    const { match } = compiled.rule;
    const condition = CONDITIONS.find((kind) => match[kind] !== undefined);
    if (condition !== undefined) append(this.byCondition, `${condition} ${match[condition]}`, compiled);
    else if (match.protocol ?? match.suite ?? match.kex ?? match.hostkey) this.ofProtocols.push(compiled);
    else if (match.hybrid !== undefined) for (const name of match.hybrid) append(this.byHybrid, name, compiled);
    else if (match.family !== undefined) for (const name of match.family) append(this.byFamily, name, compiled);
    else this.ofAlgorithms.push(compiled);
  }
}

function append(map: Map<string, CompiledRule[]>, key: string, rule: CompiledRule): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [rule]);
  else known.push(rule);
}
