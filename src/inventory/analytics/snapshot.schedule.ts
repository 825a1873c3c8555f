import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { causeOf } from '../../platform/database/database-error.js';
import { SnapshotTaker } from './snapshot-taker.js';
import type { Scope } from '../../access/scopes.js';
import {
  assertNoSettings,
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
} from '../../platform/schedules/schedule-targets.js';

const EVERY_MS = 60_000;

/** Takes the snapshot of a day that is over. A service that was down at midnight takes it at its start: nothing has changed meanwhile. */
@Injectable()
export class SnapshotSchedule implements OnApplicationBootstrap {
  private readonly logger = new Logger(SnapshotSchedule.name);

  constructor(private readonly taker: SnapshotTaker) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.look();
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    try {
      await this.taker.takeLast();
    } catch (error) {
      this.logger.warn(`no snapshot was taken: ${causeOf(error)}`);
    }
  }
}

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
    return { ok: true, detail: taken ? `${day} is kept` : `${day} was kept already` };
  }
}
