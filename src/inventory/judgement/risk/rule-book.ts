import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { TtlCache } from '../../../platform/database/ttl-cache.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RiskEngine } from './risk-engine.js';
import type { RuleSet } from '../../model/rule-set.js';

/**
 * Lock key. Transactions that commit verdicts acquire the lock in shared mode; a transaction that changes the rules acquires it in exclusive mode. Verdicts
 * based on the previous rules therefore cannot be committed after the change.
 */
const RULES_LOCK = `hashtextextended('inventory.rules', 0)`;

export interface NumberedRules {
  readonly version: number;
  readonly ruleSet: RuleSet;
  /** Whether the built-in rules apply, with or without user-defined names. */
  readonly followsProduct: boolean;
}

interface RuleSetRow extends RuleSet {
  readonly version: number;
  readonly followsProduct: boolean;
}

/** RuleBook provides the rules in force. */
@Injectable()
export class RuleBook {
  private readonly remembered = new TtlCache<NumberedRules>(() => this.read(this.db.manager));
  private engine: { readonly version: number; readonly engine: RiskEngine } | undefined;

  constructor(private readonly db: DataSource) {}

  /** Returns the rules as last read by this process, at most a few seconds ago. */
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

  /** Reports whether verdicts based on this version of the rules may be committed. Call this method immediately before the commit. */
  async stillHolds(tx: EntityManager, version: number): Promise<boolean> {
    await tx.query(`SELECT pg_advisory_xact_lock_shared(${RULES_LOCK})`);
    const [row] = (await tx.query('SELECT coalesce(max(version), 0) AS version FROM risk_rule_set')) as {
      version: number;
    }[];
    const holds = row?.version === version;
    if (!holds) this.remembered.expire('current');
    return holds;
  }

  /** Prevents other transactions from committing verdicts until the transaction ends. */
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
 * lockVerdictsShared prevents changes to verdicts until the transaction ends. Transactions that count assets by the facts in their verdicts must call this
 * function before they first read verdicts. Otherwise, an asset could be added under one verdict and subtracted under another.
 */
export async function lockVerdictsShared(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${LOCK})`);
}

/** lockVerdicts acquires the exclusive verdict lock until the transaction ends. The call waits for holders of the shared lock and blocks new holders. */
export async function lockVerdicts(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
}
