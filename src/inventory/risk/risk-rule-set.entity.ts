import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OwnName, Rule } from '../model/rule-set.js';

/** `JUDGING`: assets are being judged anew; `DONE`: all of them are. */
export type RuleSetStatus = 'JUDGING' | 'DONE';

/** An edition of the rules and names that people made, whole. Without any, the rules that come with the product hold, as version 0. */
@Entity('risk_rule_set')
export class RiskRuleSet {
  /** Numbers follow each other; the highest holds. */
  @PrimaryColumn('int')
  version: number;

  @Column('text')
  edition: string;

  @Column('jsonb')
  rules: Rule[];

  /** Names that people taught, all of them. */
  @Column('jsonb', { default: [] })
  names: OwnName[];

  /** Only names were taught so far: the rules are those of the product, also of a later release. */
  @Column('boolean', { default: false })
  followsProduct: boolean;

  /** The rule that this version changed, or the name, with `name:` before it. */
  @Column('text')
  changedRule: string;

  @Column('text')
  createdBy: string;

  @Column('text', { default: 'JUDGING' })
  status: RuleSetStatus;

  /** Sets of facts to judge, and how many are judged. */
  @Column('int', { default: 0 })
  total: number;

  @Column('int', { default: 0 })
  judged: number;

  /** Assets whose verdict changed. */
  @Column('int', { default: 0 })
  changedAssets: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;
}
