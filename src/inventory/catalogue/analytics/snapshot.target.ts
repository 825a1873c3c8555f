import { Injectable } from '@nestjs/common';
import { SnapshotTaker } from './snapshot-taker.js';
import type { Scope } from '../../../access/scopes.js';
import {
  assertNoSettings,
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
} from '../../../platform/events/schedule-targets.js';

/** SnapshotTarget runs `snapshot` schedules: it ensures that yesterday has a snapshot and records the outcome in the schedule history. */
@Injectable()
export class SnapshotTarget implements ScheduleTarget {
  readonly scope = 'inventory:write' satisfies Scope;

  constructor(
    private readonly taker: SnapshotTaker,
    targets: ScheduleTargets,
  ) {
    targets.serve('snapshot', this);
  }

  check(settings: Record<string, unknown>): void {
    assertNoSettings(settings);
  }

  async carryOut(): Promise<RunEnd> {
    const { day, taken } = await this.taker.takeLast();
    return { ok: true, detail: taken ? `${day} has been stored` : `${day} was already stored` };
  }
}
