import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type NotificationReason = 'opened' | 'again' | 'reopened' | 'resolved' | 'asked';
export type NotificationChannel = 'email' | 'webhook';

/** That somebody was told of an alert: the mail or webhook message that was put in line for it. */
@Entity('alert_notification')
@Index('alert_notification_alert', ['alertId', 'id'])
export class AlertNotification {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  alertId: string;

  @Column('text')
  reason: NotificationReason;

  /** How often it had happened by then. */
  @Column('int')
  count: number;

  @Column('text')
  channel: NotificationChannel;

  /** Row in mail_message or webhook_delivery. */
  @Column('uuid')
  reference: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
