import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/http/problem.js';
import { type ScheduleTarget, ScheduleTargets } from '../../platform/schedules/schedule-targets.js';

export const LOG_CHECK = 'log-check';

/** `log-check`: reads the whole audit log and checks it against its signed checkpoint. The run itself says what is to be done. */
@Injectable()
export class LogCheckTarget implements ScheduleTarget {
  constructor(targets: ScheduleTargets) {
    targets.serve(LOG_CHECK, this);
  }

  check(settings: Record<string, unknown>): void {
    const [name] = Object.keys(settings);
    if (name === undefined) return;
    const errors = [{ pointer: `/settings/${name}`, detail: 'is not known: a log check has no settings' }];
    throw new Problem('refused', 'schedule.settings', 'A log check has no settings.', { errors });
  }

  /** LogChecker finds the run by its state. */
  async start(_tx: EntityManager): Promise<void> {}
}
