import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { FindingRule, FindingSeverity } from './finding-rules.js';

/** A finding about a key: the rule, the severity and the location. */
@Entity('ssh_key_finding')
@Index('ssh_key_finding_rule', ['rule', 'keyId'])
export class SshKeyFinding {
  @PrimaryColumn('uuid')
  id: string;

  @Index('ssh_key_finding_key')
  @Column('uuid')
  keyId: string;

  @Column('text')
  rule: FindingRule;

  @Column('text')
  severity: FindingSeverity;

  /** The place that the finding is about; null when it is about the key itself. */
  @Column('uuid', { nullable: true })
  locationId: string | null;

  @Column('text')
  detail: string;
}
