import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OwnName, Rule } from '../../model/rule-set.js';

/** `JUDGING`: assets are being reclassified; `DONE`: all assets have been reclassified. */
export type RuleSetStatus = 'JUDGING' | 'DONE';

/** A complete version of the rules and names, including user changes. If there is no row, the built-in rules apply as version 0. */
@Entity('risk_rule_set')
export class RiskRuleSet {
  /** Consecutive number. The highest version is in force. */
  @PrimaryColumn('int')
  version: number;

  @Column('text')
  edition: string;

  @Column('jsonb')
  rules: Rule[];

  /** All names defined by users. */
  @Column('jsonb', { default: [] })
  names: OwnName[];

  /** Whether users have so far defined only names. If so, the built-in rules apply, even after an upgrade. */
  @Column('boolean', { default: false })
  followsProduct: boolean;

  /** ID of the rule that this version changed, or `name:` followed by an algorithm name. */
  @Column('text')
  changedRule: string;

  @Column('text')
  createdBy: string;

  @Column('text', { default: 'JUDGING' })
  status: RuleSetStatus;

  /** Number of sets of facts to classify. `judged` is the number of sets classified so far. */
  @Column('int', { default: 0 })
  total: number;

  @Column('int', { default: 0 })
  judged: number;

  /** Number of assets whose verdict changed. */
  @Column('int', { default: 0 })
  changedAssets: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;
}
