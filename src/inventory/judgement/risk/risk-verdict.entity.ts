import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AssetKind } from '../../model/asset-kind.js';
import type { RiskSubject } from '../../model/risk-subject.js';
import type { Deadline, RiskVerdict, VerdictFacts } from '../../model/risk-verdict.js';

/** Verdict on one set of facts under the rules. All assets with the same facts share the row. The view `judged_asset` joins assets with their verdicts. */
@Entity('risk_verdict')
export class RiskVerdictRow implements VerdictFacts {
  /** Hash of the facts. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('jsonb')
  subject: RiskSubject;

  @Column('jsonb')
  verdict: RiskVerdict;

  /** Edition of the rules that produced the verdict. */
  @Column('text')
  rules: string;

  /** Kind of the assets that share the verdict. */
  @Column('text')
  kind: AssetKind;

  /** Name of the algorithm family in the rules. For a key, certificate or protocol: the family of the algorithm that the asset uses. */
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

  /** Source of `deadline`: its jurisdiction, authority and provision. */
  @Column('jsonb', { nullable: true })
  deadlineBy: Deadline | null;

  /** Owner of the source that first required the verdict. Set only for protocol verdicts required by a reporter to whom a limit applies; otherwise null. */
  @Index('risk_verdict_reporter', { where: 'reporter IS NOT NULL' })
  @Column('text', { nullable: true })
  reporter: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  changedAt: Date;
}
