import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Problem } from '../errors/problem.js';
import { recordAlertEvents } from './alert-events.js';
import { truncate } from '../text/truncate.js';

/** StartingRun is a run about to start. */
export interface StartingRun {
  readonly runId: string;
  readonly scheduleId: string;
  readonly scheduleName: string;
  readonly dueAt: Date;
  /** Settings of the schedule for this target, as validated by `check`. */
  readonly settings: Record<string, unknown>;
  /** ID of the person, API key or OAuth client on whose behalf the run starts: the caller who started the run manually, or the last editor of the schedule. */
  readonly madeBy: string;
}

export interface RunEnd extends RunOutcome {
  /** Runs in the transaction that ends the run. */
  readonly commit?: (tx: EntityManager) => Promise<void>;
}

/** ScheduleTarget is an operation that schedules can start. A target implements `start` or `carryOut`. */
export interface ScheduleTarget {
  /** Scope required to run the operation directly. The scope is also required to create, change or start a schedule with this target. */
  readonly scope: string;
  /** Validates settings. Throws a Problem if the settings are invalid. */
  check(settings: Record<string, unknown>): Promise<void> | void;
  /**
   * Records the work in the transaction that marks the run as started, so that the start and the work are recorded exactly once or not at all. When the
   * work has ended, the target calls `ScheduledRuns.end`.
   */
  start?(tx: EntityManager, run: StartingRun): Promise<void>;
  /**
   * Performs the work immediately in a worker and returns the outcome. A Problem fails the run. If the worker dies or another error is thrown, the run is
   * repeated.
   */
  carryOut?(settings: Record<string, unknown>): Promise<RunEnd>;
}

/** ScheduleTargets holds the targets that schedules can start, by kind. Modules register their targets at startup. */
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

/**
 * assertNoSettings rejects settings for targets without settings.
 * @throws Problem 422 `schedule.settings`
 */
export function assertNoSettings(settings: Record<string, unknown>): void {
  const [name] = Object.keys(settings);
  if (name === undefined) return;
  const errors = [{ pointer: `/settings/${name}`, detail: 'must be omitted, because this target has no settings' }];
  throw new Problem(
    'refused',
    'schedule.settings',
    '/settings: must be omitted, because this target has no settings.',
    { errors },
  );
}

export interface RunOutcome {
  readonly ok: boolean;
  /** Result or reason of the failure, in one sentence. */
  readonly detail: string;
}

interface EndedRun {
  readonly id: string;
  readonly scheduleId: string;
  readonly name: string;
}

const MAX_DETAIL = 1000;

/** ScheduledRuns records the end of runs, as reported by targets. */
@Injectable()
export class ScheduledRuns {
  /** Ends a run. Has no effect if the run has already ended. A failure is recorded as an alert event. */
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
    await recordAlertEvents(tx, [{ type: 'scan.failed', subject, facts: { why: detail, run: run.id } }]);
  }
}
