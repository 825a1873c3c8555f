import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { staleProblem } from '../../../platform/http/versions.js';
import { DEFAULT_RULES } from '../risk/default-rules.js';
import { Reclassifier } from './reclassifier.js';
import { RiskRuleSet } from '../risk/risk-rule-set.entity.js';
import { RuleBook } from '../risk/rule-book.js';
import { checkedMatch } from './rule-match-check.js';
import type { Rule, RuleSet } from '../../model/rule-set.js';

const PATH = '/api/quantum-risk/rules';
const MAX_RULES = 1000;
const CONDITIONS = new Set(
  DEFAULT_RULES.rules.flatMap(({ match }) =>
    (['material', 'certificate', 'quality', 'suite'] as const).map((name) => `${name} ${match[name]}`),
  ),
);

/** RuleChange is one change to the rules. `put` adds a rule or replaces the rule with the same id; `remove` is the id of a rule to remove. */
export type RuleChange = { readonly put: Rule } | { readonly remove: string };

/** RuleChangesService changes the rules. Each change creates a new version of the rules. All assets are then reclassified. */
@Injectable()
export class RuleChangesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly book: RuleBook,
    private readonly reclassifier: Reclassifier,
  ) {}

  /** Returns the rules after a change. @throws Problem 400, or 404 `rule.missing`. */
  changed(ruleSet: RuleSet, change: RuleChange): RuleSet {
    const { rules } = ruleSet;
    if ('remove' in change) {
      const rest = rules.filter(({ id }) => id !== change.remove);
      if (rest.length === rules.length) throw missing('rule');
      return { ...ruleSet, rules: rest };
    }
    checkedMatch(change.put.match, CONDITIONS);
    const known = rules.some(({ id }) => id === change.put.id);
    if (!known && rules.length >= MAX_RULES)
      throw new Problem('conflict', 'rule.limit', `The limit of ${MAX_RULES} rules is reached. Delete one first.`);
    const next = known ? rules.map((rule) => (rule.id === change.put.id ? change.put : rule)) : [...rules, change.put];
    return { ...ruleSet, rules: next };
  }

  /** @throws Problem 412 if the rules have changed since `version`. */
  async apply(caller: Caller, version: number, change: RuleChange): Promise<RiskRuleSet> {
    const id = 'put' in change ? change.put.id : change.remove;
    const made = await this.db.transaction(async (tx) => {
      await this.book.lockRules(tx);
      const current = await this.book.read(tx);
      if (current.version !== version) throw staleProblem(PATH);
      const { edition, rules, names = [] } = this.changed(current.ruleSet, change);
      await tx.insert(RiskRuleSet, {
        version: version + 1,
        edition,
        rules: [...rules],
        names: [...names],
        changedRule: id,
        createdBy: caller.id,
      });
      const before = current.ruleSet.rules.find((rule) => rule.id === id) ?? null;
      await this.record(tx, caller, { id, version: version + 1, before, after: 'put' in change ? change.put : null });
      return tx.findOneByOrFail(RiskRuleSet, { version: version + 1 });
    });
    this.book.forget();
    this.reclassifier.wake();
    return made;
  }

  /** @throws Problem 404 `rules.version`. */
  async progress(version: number): Promise<RiskRuleSet> {
    const row = await this.db.manager.findOneBy(RiskRuleSet, { version });
    if (row === null) throw new Problem('missing', 'rules.version', 'This version of the rules does not exist.');
    return row;
  }

  private record(
    tx: EntityManager,
    caller: Caller,
    { id, ...detail }: { id: string; version: number; before: Rule | null; after: Rule | null },
  ): Promise<void> {
    const action = detail.after === null ? 'inventory.rule-removed' : 'inventory.rule-changed';
    return this.audit.appendBy(tx, caller, { action, target: { kind: 'risk-rule', id }, detail });
  }
}
