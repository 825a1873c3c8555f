import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AlertConditionName, RiskLevel } from './alert-condition.js';

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** `subject`: one alert for each thing that it happens to. `rule`: one for all of them. */
export const GROUPINGS = ['subject', 'rule'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface RuleParameters {
  /** For risk-threshold: this level and worse. */
  readonly level?: RiskLevel;
  /** For certificate-expiring. */
  readonly days?: number;
}

/** What is to be alerted, and whom it is told. */
@Entity('alert_rule')
export class AlertRule {
  @PrimaryColumn('uuid')
  id: string;

  @Index('alert_rule_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  condition: AlertConditionName;

  @Column('jsonb', { default: {} })
  parameters: RuleParameters;

  @Column('text')
  severity: Severity;

  @Column('text')
  grouping: Grouping;

  /** After a notification the next one of the same alert waits so long, and tells how often it happened meanwhile. */
  @Column('int', { default: 60 })
  coolDownMinutes: number;

  /** Mails go here; without any, to SVC_ALERT_EMAIL_TO. */
  @Column('text', { array: true })
  emails: string[];

  @Column('uuid', { array: true })
  webhooks: string[];

  @Column('boolean', { default: true })
  enabled: boolean;

  /** Until then alerts open and count, and nobody is told. */
  @Column('timestamptz', { nullable: true })
  mutedUntil: Date | null;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
