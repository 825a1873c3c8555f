import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AlertConditionName, RiskLevel } from './alert-condition.js';

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** `subject`: one alert for each subject. `rule`: one alert for all subjects. */
export const GROUPINGS = ['subject', 'rule'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface RuleParameters {
  /** For risk-threshold: the lowest level that matches. */
  readonly level?: RiskLevel;
  /** For certificate-expiring: days before expiry. */
  readonly days?: number;
}

/** A rule that defines which events open alerts, and who is notified. */
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

  /** Minimum time between two notifications of an alert. The later notification contains the number of events since the earlier notification. */
  @Column('int', { default: 60 })
  coolDownMinutes: number;

  /** Email recipients. If empty, SVC_ALERT_EMAIL_TO is used. */
  @Column('text', { array: true })
  emails: string[];

  @Column('uuid', { array: true })
  webhooks: string[];

  /**
   * Whether the rule is enabled; use `isActive` to read the state. Always false if the previous version does not support the condition, because that version
   * fails on enabled rules with unknown conditions.
   */
  @Column('boolean', { default: true })
  enabled: boolean;

  /** Overrides `enabled` for rules whose condition the previous version does not support; null for all other rules. */
  @Column('boolean', { nullable: true })
  active: boolean | null;

  /** Until this time, alerts are opened and counted without notifications. */
  @Column('timestamptz', { nullable: true })
  mutedUntil: Date | null;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** Conditions that the previous version does not support. */
const NEW_CONDITIONS: readonly AlertConditionName[] = ['host-key-changed'];

/** Reports whether a rule opens alerts. */
export function isActive({ enabled, active }: Pick<AlertRule, 'enabled' | 'active'>): boolean {
  return active ?? enabled;
}

/** Returns the columns that enable or disable a rule, in a form that the previous version can also read. */
export function activation(condition: AlertConditionName, enabled: boolean): Pick<AlertRule, 'enabled' | 'active'> {
  return NEW_CONDITIONS.includes(condition) ? { enabled: false, active: enabled } : { enabled, active: null };
}
