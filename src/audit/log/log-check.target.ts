import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Scope } from '../../auth/scopes.js';
import { assertNoSettings } from '../../platform/schedules/no-settings.js';
import { type ScheduleTarget, ScheduleTargets } from '../../platform/schedules/schedule-targets.js';

export const LOG_CHECK = 'log-check';

/** `log-check`: reads the whole audit log and checks it against its signed checkpoint. The run itself says what is to be done. */
@Injectable()
export class LogCheckTarget implements ScheduleTarget {
  readonly scope = 'audit:read' satisfies Scope;

  constructor(targets: ScheduleTargets) {
    targets.serve(LOG_CHECK, this);
  }

  check(settings: Record<string, unknown>): void {
    assertNoSettings(settings);
  }

  /** LogChecker finds the run by its state. */
  async start(_tx: EntityManager): Promise<void> {}
}
