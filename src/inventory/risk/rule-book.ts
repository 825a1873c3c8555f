import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RiskEngine } from './risk-engine.js';
import type { RuleSet } from '../model/rule-set.js';

/** Shared by transactions that commit verdicts, exclusive for one that changes the rules: after that no verdict of the old rules is committed. */
const RULES_LOCK = `hashtextextended('inventory.rules', 0)`;

export interface NumberedRules {
  readonly version: number;
  readonly ruleSet: RuleSet;
  /** The rules are those of the product, whatever names were taught. */
  readonly followsProduct: boolean;
}

interface RuleSetRow extends RuleSet {
  readonly version: number;
  readonly followsProduct: boolean;
}

/** The rules in force. */
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
      `SELECT version, edition, rules, names, follows_product AS "followsProduct" FROM risk_rule_set
       ORDER BY version DESC LIMIT 1`,
    )) as RuleSetRow[];
    if (row === undefined) return DEFAULTS;
    const { version, edition, rules, names, followsProduct } = row;
    const ruleSet = followsProduct ? { ...DEFAULT_RULES, names } : { edition, rules, names };
    return { version, ruleSet, followsProduct };
  }

  /** To be called right before the commit: whether verdicts of this version of the rules may be committed. */
  async stillHolds(tx: EntityManager, version: number): Promise<boolean> {
    await tx.query(`SELECT pg_advisory_xact_lock_shared(${RULES_LOCK})`);
    const [row] = (await tx.query('SELECT coalesce(max(version), 0) AS version FROM risk_rule_set')) as {
      version: number;
    }[];
    const holds = row?.version === version;
    if (!holds) this.remembered.expire('current');
    return holds;
  }

  /** Lets no other transaction commit verdicts until this one ends. */
  async lockRules(tx: EntityManager): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(${RULES_LOCK})`);
  }

  forget(): void {
    this.remembered.forget('current');
  }
}

const DEFAULTS: NumberedRules = { version: 0, ruleSet: DEFAULT_RULES, followsProduct: true };

const LOCK = `hashtextextended('inventory.verdicts', 0)`;

/**
 * Keeps verdicts as they are until the transaction ends. To be called before the first look at them by transactions that count assets by
 * the facts of their verdicts: what is added under one verdict would otherwise be subtracted under another.
 */
export async function lockVerdictsShared(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${LOCK})`);
}

/** Waits for all transactions that share the verdicts, and makes others wait until this one ends. */
export async function lockVerdicts(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
}
