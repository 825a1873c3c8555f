import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { Severity } from './alert-rule.entity.js';
import type { AlertFacts } from '../../platform/events/alert-events.js';

export const ALERT_STATUSES = ['OPEN', 'ACKNOWLEDGED', 'RESOLVED', 'REOPENED'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Alert transitions that users can make. A new event also changes the status from RESOLVED to REOPENED. */
export const ALERT_MOVES = {
  acknowledge: { from: ['OPEN', 'REOPENED'], to: 'ACKNOWLEDGED' },
  resolve: { from: ['OPEN', 'REOPENED', 'ACKNOWLEDGED'], to: 'RESOLVED' },
  reopen: { from: ['RESOLVED', 'ACKNOWLEDGED'], to: 'REOPENED' },
} as const satisfies Record<string, { from: readonly AlertStatus[]; to: AlertStatus }>;

export type AlertMove = keyof typeof ALERT_MOVES;

/** An alert: one row per rule and key, regardless of how many events match. */
@Entity('alert')
@Unique('alert_of_rule', ['ruleId', 'key'])
@Index('alert_status', ['status', 'id'])
@Index('alert_owner', ['ownerId', 'id'], { where: 'owner_id IS NOT NULL' })
@Index('alert_to_notify', ['notifyAt'], { where: 'notify_at IS NOT NULL' })
export class Alert {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  ruleId: string;

  /** The subject, or `*` if the rule groups all subjects. */
  @Column('text')
  key: string;

  @Column('text', { default: 'OPEN' })
  status: AlertStatus;

  @Column('text')
  severity: Severity;

  @Column('text')
  title: string;

  /** Subject of the last event. */
  @Column('text')
  subjectKind: string;

  @Column('text')
  subjectId: string;

  @Column('text')
  subjectName: string;

  @Column('jsonb', { default: {} })
  facts: AlertFacts;

  @Column('int', { default: 1 })
  count: number;

  @Column('timestamptz')
  firstAt: Date;

  @Column('timestamptz')
  lastAt: Date;

  /** The user who is responsible for the alert. */
  @Column('uuid', { nullable: true })
  ownerId: string | null;

  @Column('timestamptz', { nullable: true })
  mutedUntil: Date | null;

  @Column('timestamptz', { nullable: true })
  resolvedAt: Date | null;

  /** Name of the user who resolved the alert; null if the alert resolved automatically. */
  @Column('text', { nullable: true })
  resolvedBy: string | null;

  /** Time at which the next notification is due; null if no notification is due. */
  @Column('timestamptz', { nullable: true })
  notifyAt: Date | null;

  @Column('timestamptz', { nullable: true })
  notifiedAt: Date | null;

  @Column('int', { default: 0 })
  notifiedCount: number;

  /** Status in the last notification. */
  @Column('text', { nullable: true })
  notifiedStatus: AlertStatus | null;

  /** Increases with each change by a user. */
  @Column('int', { default: 1 })
  version: number;
}

export type NotificationReason = 'opened' | 'again' | 'reopened' | 'resolved' | 'asked';
export type NotificationChannel = 'email' | 'webhook';

/** An alert notification that was queued as an email or as a webhook message. */
@Entity('alert_notification')
@Index('alert_notification_alert', ['alertId', 'id'])
export class AlertNotification {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  alertId: string;

  @Column('text')
  reason: NotificationReason;

  /** Event count of the alert at the time of the notification. */
  @Column('int')
  count: number;

  @Column('text')
  channel: NotificationChannel;

  /** ID of the row in mail_message or webhook_delivery. */
  @Column('uuid')
  reference: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
