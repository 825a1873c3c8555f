import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Rule for due times at which no worker was running: one run for all missed due times, or no run. */
export const MISSED_RULES = ['once', 'skip'] as const;
export type MissedRule = (typeof MISSED_RULES)[number];

/** A schedule that starts runs according to a cron expression in a time zone, or at a fixed interval. */
@Entity('schedule')
@Index('schedule_due', ['nextDueAt'], { where: 'enabled' })
export class Schedule {
  @PrimaryColumn('uuid')
  id: string;

  @Index('schedule_name', { unique: true })
  @Column('text')
  name: string;

  /** Five-field cron expression; null if the schedule has an interval. */
  @Column('text', { nullable: true })
  cron: string | null;

  @Column('int', { nullable: true })
  intervalSeconds: number | null;

  /** IANA time zone in which `cron` is evaluated. */
  @Column('text', { default: 'UTC' })
  timeZone: string;

  @Column('text')
  target: string;

  @Column('jsonb', { default: {} })
  settings: Record<string, unknown>;

  @Column('text', { default: 'once' })
  missed: MissedRule;

  /** Minutes after which a run fails if its target has not ended the run. */
  @Column('int', { default: 1440 })
  timeoutMinutes: number;

  /** False if the schedule is paused. */
  @Column('boolean', { default: true })
  enabled: boolean;

  @Column('timestamptz', { nullable: true })
  nextDueAt: Date | null;

  /** ID of the last author: a user, an API key or an OAuth client. The schedule runs as long as the author has the scope of its target. */
  @Column('text')
  madeBy: string;

  /** Other IDs whose rights the schedule requires: the owner of a key or client, everyone who was shown the secret, and the session's client. */
  @Column('text', { array: true, nullable: true })
  madeBehind: string[] | null;

  /** Reason why the service paused the schedule; null if a user paused the schedule, or if the schedule is not paused. */
  @Column('text', { nullable: true })
  pausedBecause: string | null;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
