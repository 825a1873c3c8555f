import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OwnName, Rule } from '../model/rule-set.js';

/** `JUDGING`: assets are being judged again; `DONE`: all assets have been judged. */
export type RuleSetStatus = 'JUDGING' | 'DONE';

/** A complete edition of the rules and names with the changes of users. Without any edition, the rules of the product apply as version 0. */
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

  /** Whether only names have been defined so far. The rules are then those of the product, even after an upgrade. */
  @Column('boolean', { default: false })
  followsProduct: boolean;

  /** Id of the rule that this version changed, or `name:` followed by a name. */
  @Column('text')
  changedRule: string;

  @Column('text')
  createdBy: string;

  @Column('text', { default: 'JUDGING' })
  status: RuleSetStatus;

  /** Number of sets of facts to judge. `judged` is the number judged so far. */
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
