import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';

/** DUE waits for its target; RUNNING until the target says how it ended; SKIPPED never starts. */
export const RUN_STATUSES = ['DUE', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** `time`: its time came. `missed`: no worker ran when it came. `hand`: a caller asked for it. */
export type RunTrigger = 'time' | 'missed' | 'hand';

/** One run of a schedule. That there is one row per schedule and due time is what makes it start once. */
@Entity('schedule_run')
@Unique('schedule_run_due', ['scheduleId', 'dueAt'])
@Index('schedule_run_open', ['status', 'id'], { where: "status IN ('DUE', 'RUNNING')" })
export class ScheduleRun {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  scheduleId: string;

  @Column('timestamptz')
  dueAt: Date;

  @Column('text')
  trigger: RunTrigger;

  @Column('text', { default: 'DUE' })
  status: RunStatus;

  /** Id of who asked for it by hand; null: it runs for who made the schedule. */
  @Column('text', { nullable: true })
  askedBy: string | null;

  /** Reason for which the run was skipped or failed, or its result. */
  @Column('text', { nullable: true })
  detail: string | null;

  /** Earlier due times that this run stands for. */
  @Column('int', { default: 0 })
  missed: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  startedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;
}
