import { Injectable } from '@nestjs/common';
import { SnapshotTaker } from './snapshot-taker.js';
import type { Scope } from '../../access/scopes.js';
import {
  assertNoSettings,
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
} from '../../platform/schedules/schedule-targets.js';

/** `snapshot`: makes sure that the last day has its snapshot, and says so in the history of the schedule. */
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
    return { ok: true, detail: taken ? `${day} is kept` : `${day} was already stored` };
  }
}
