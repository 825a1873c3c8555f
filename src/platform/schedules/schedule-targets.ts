import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Problem } from '../errors/problem.js';
import { AlertEvents } from '../events/alert-events.js';
import { truncate } from '../text/truncate.js';

/** A run that starts now. */
export interface StartingRun {
  readonly runId: string;
  readonly scheduleId: string;
  readonly scheduleName: string;
  readonly dueAt: Date;
  /** Settings of the schedule for this target, as `check` accepted them. */
  readonly settings: Record<string, unknown>;
  /** Id of the person, API key or OAuth client in whose name it runs: who asked for it by hand, or else who made or changed the schedule. */
  readonly madeBy: string;
}

export interface RunEnd extends RunOutcome {
  /** What commits together with the end of the run. */
  readonly commit?: (tx: EntityManager) => Promise<void>;
}

/** Something that schedules can start. It has `start` or `carryOut`. */
export interface ScheduleTarget {
  /** The scope that ordering it by hand takes. Whoever makes, changes or starts a schedule of it needs that as well. */
  readonly scope: string;
  /** Refuses settings with a Problem. */
  check(settings: Record<string, unknown>): Promise<void> | void;
  /**
   * Writes down what is to be done, in the transaction that marks the run as started: both happen once, or neither. When it is
   * done, however it ended, the target calls `ScheduledRuns.end`.
   */
  start?(tx: EntityManager, run: StartingRun): Promise<void>;
  /**
   * Does at once what the settings say, in a worker, and answers how it ended; a Problem is why it failed. The run itself says what is
   * to be done: when the worker dies, or it throws anything else, it is done anew.
   */
  carryOut?(settings: Record<string, unknown>): Promise<RunEnd>;
}

/** Targets that schedules can start, by kind. Each module adds its own when it is made. */
@Injectable()
export class ScheduleTargets {
  private readonly targets = new Map<string, ScheduleTarget>();

  serve(kind: string, target: ScheduleTarget): void {
    this.targets.set(kind, target);
  }

  get(kind: string): ScheduleTarget | undefined {
    return this.targets.get(kind);
  }

  get kinds(): string[] {
    return [...this.targets.keys()].sort();
  }
}

/** For targets that know what to do. @throws Problem 422 `schedule.settings` */
export function assertNoSettings(settings: Record<string, unknown>): void {
  const [name] = Object.keys(settings);
  if (name === undefined) return;
  const errors = [{ pointer: `/settings/${name}`, detail: 'must be absent: this target has no settings' }];
  throw new Problem('refused', 'schedule.settings', 'This target has no settings.', { errors });
}

export interface RunOutcome {
  readonly ok: boolean;
  /** Result in one sentence, or the reason of the failure. */
  readonly detail: string;
}

interface EndedRun {
  readonly id: string;
  readonly scheduleId: string;
  readonly name: string;
}

const MAX_DETAIL = 1000;

/** Records the end of runs, which targets report. */
@Injectable()
export class ScheduledRuns {
  constructor(private readonly alertEvents: AlertEvents) {}

  /** Ends a run that is under way; a second time changes nothing. A failure is recorded as an alert event. */
  async end(tx: EntityManager, runId: string, { ok, detail }: RunOutcome): Promise<void> {
    const [ended]: [EndedRun[], number] = await tx.query(
      `UPDATE schedule_run r SET status = $2, detail = $3, ended_at = now() FROM schedule s
       WHERE r.id = $1 AND r.status IN ('DUE', 'RUNNING') AND s.id = r.schedule_id
       RETURNING r.id, r.schedule_id AS "scheduleId", s.name`,
      [runId, ok ? 'SUCCEEDED' : 'FAILED', truncate(detail, MAX_DETAIL)],
    );
    const [run] = ended;
    if (run === undefined || ok) return;
    const subject = { kind: 'schedule', id: run.scheduleId, name: run.name };
    await this.alertEvents.record(tx, [{ type: 'scan.failed', subject, facts: { why: detail, run: run.id } }]);
  }
}
