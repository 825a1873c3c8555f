import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RiskSubject } from './risk-subject.js';
import type { RiskVerdict } from './risk-verdict.js';

/** What the rules say about one set of facts: every asset of the same facts shares the row. */
@Entity('risk_verdict')
export class RiskVerdictRow {
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
}
