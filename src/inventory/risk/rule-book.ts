import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RiskEngine } from './risk-engine.js';
import type { RuleSet } from '../model/rule-set.js';

/** Taken for a moment by whoever commits verdicts, and alone by whoever changes the rules: nothing is judged by old rules after that. */
const RULES_LOCK = `hashtextextended('inventory.rules', 0)`;

export interface NumberedRules {
  readonly version: number;
  readonly ruleSet: RuleSet;
}

interface RuleSetRow extends RuleSet {
  readonly version: number;
}

/** The rules that hold now. */
@Injectable()
export class RuleBook {
  private readonly remembered = new TtlCache<NumberedRules>(() => this.read(this.db.manager));
  private engine: { readonly version: number; readonly engine: RiskEngine } | undefined;

  constructor(private readonly db: DataSource) {}

  /** As this process last saw them, a few seconds ago at most. */
  async current(): Promise<NumberedRules> {
    return (await this.remembered.find('current')) ?? DEFAULTS;
  }

  async engineNow(): Promise<{ readonly version: number; readonly engine: RiskEngine }> {
    const { version, ruleSet } = await this.current();
    if (this.engine?.version !== version) this.engine = { version, engine: new RiskEngine(ruleSet) };
    return this.engine;
  }

  async read(tx: EntityManager): Promise<NumberedRules> {
    const [row] = (await tx.query(
      'SELECT version, edition, rules FROM risk_rule_set ORDER BY version DESC LIMIT 1',
    )) as RuleSetRow[];
    return row === undefined ? DEFAULTS : { version: row.version, ruleSet: { edition: row.edition, rules: row.rules } };
  }

  /** Within a transaction, right before its commit: whether what was judged by this version may be committed. */
  async stillHolds(tx: EntityManager, version: number): Promise<boolean> {
    await tx.query(`SELECT pg_advisory_xact_lock_shared(${RULES_LOCK})`);
    const [row] = (await tx.query('SELECT coalesce(max(version), 0) AS version FROM risk_rule_set')) as {
      version: number;
    }[];
    const holds = row?.version === version;
    if (!holds) this.forget();
    return holds;
  }

  /** Keeps everybody from committing verdicts until the transaction ends. */
  async hold(tx: EntityManager): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(${RULES_LOCK})`);
  }

  forget(): void {
    this.remembered.forget('current');
  }
}

const DEFAULTS: NumberedRules = { version: 0, ruleSet: DEFAULT_RULES };
