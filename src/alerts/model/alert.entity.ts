import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { AlertStatus } from './alert-status.js';
import type { Severity } from './alert-rule.entity.js';

/** Something that a rule waits for has happened: one row per rule and thing, however often. */
@Entity('alert')
@Unique('alert_of_rule', ['ruleId', 'key'])
@Index('alert_status', ['status', 'id'])
@Index('alert_to_notify', ['notifyAt'], { where: 'notify_at IS NOT NULL' })
export class Alert {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  ruleId: string;

  /** The subject, or `*` where the rule makes one alert of all. */
  @Column('text')
  key: string;

  @Column('text', { default: 'OPEN' })
  status: AlertStatus;

  @Column('text')
  severity: Severity;

  @Column('text')
  title: string;

  /** That of the last event. */
  @Column('text')
  subjectKind: string;

  @Column('text')
  subjectId: string;

  @Column('text')
  subjectName: string;

  @Column('jsonb', { default: {} })
  facts: Record<string, string | number>;

  @Column('int', { default: 1 })
  count: number;

  @Column('timestamptz')
  firstAt: Date;

  @Column('timestamptz')
  lastAt: Date;

  /** The person who looks after it. */
  @Column('uuid', { nullable: true })
  ownerId: string | null;

  @Column('timestamptz', { nullable: true })
  mutedUntil: Date | null;

  @Column('timestamptz', { nullable: true })
  resolvedAt: Date | null;

  /** Who resolved it; null when it ended by itself. */
  @Column('text', { nullable: true })
  resolvedBy: string | null;

  /** When somebody is to be told; null when there is nothing new. */
  @Column('timestamptz', { nullable: true })
  notifyAt: Date | null;

  @Column('timestamptz', { nullable: true })
  notifiedAt: Date | null;

  @Column('int', { default: 0 })
  notifiedCount: number;

  /** The state that people were told of last. */
  @Column('text', { nullable: true })
  notifiedStatus: AlertStatus | null;

  /** Goes up with each change that people make. */
  @Column('int', { default: 1 })
  version: number;
}
