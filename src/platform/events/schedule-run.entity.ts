import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';

/** DUE: waiting for its target. RUNNING: the target has not reported the end yet. SKIPPED: never starts. */
export const RUN_STATUSES = ['DUE', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** `time`: the run became due. `missed`: no worker was running when the run became due. `hand`: a caller requested the run. */
export type RunTrigger = 'time' | 'missed' | 'hand';

/** ScheduleRun is one run of a schedule. The unique constraint on schedule and due time ensures that a run starts only once. */
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

  /** ID of the caller who started the run; null if the run is on behalf of the schedule's author. */
  @Column('text', { nullable: true })
  askedBy: string | null;

  /** Result of the run, or the reason why the run was skipped or failed. */
  @Column('text', { nullable: true })
  detail: string | null;

  /** Number of earlier due times that this run replaces. */
  @Column('int', { default: 0 })
  missed: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  startedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;
}
