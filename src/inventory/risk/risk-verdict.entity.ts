import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AssetKind } from '../model/asset-kind.js';
import type { RiskSubject } from '../model/risk-subject.js';
import type { Deadline, RiskVerdict, VerdictFacts } from '../model/risk-verdict.js';

/**
 * What the rules say about one set of facts: every asset of the same facts shares the row, and the view `judged_asset` shows it with it.
 */
@Entity('risk_verdict')
export class RiskVerdictRow implements VerdictFacts {
  /** Hash of the facts. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('jsonb')
  subject: RiskSubject;

  @Column('jsonb')
  verdict: RiskVerdict;

  /** The rule set that judged. */
  @Column('text')
  rules: string;

  /** The kind of the assets that share it. */
  @Column('text')
  kind: AssetKind;

  /** Algorithm family as the rules name it; that of the algorithm it uses for a key, certificate or protocol. */
  @Column('text', { nullable: true })
  family: string | null;

  /** Key, modulus, curve or digest size in bits. */
  @Column('int', { nullable: true })
  bits: number | null;

  @Column('smallint')
  level: number;

  @Column('text')
  quantum: string;

  @Column('text')
  classical: string;

  @Column('text', { nullable: true })
  rule: string | null;

  @Column('date', { nullable: true })
  deadline: string | null;

  /** Jurisdiction of `deadline`. */
  @Column('jsonb', { nullable: true })
  deadlineBy: Deadline | null;

  @Column('timestamptz', { default: () => 'now()' })
  changedAt: Date;
}
