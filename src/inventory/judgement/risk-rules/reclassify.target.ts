import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../../../access/scopes.js';
import {
  assertNoSettings,
  type RunEnd,
  type ScheduleTarget,
  ScheduleTargets,
} from '../../../platform/events/schedule-targets.js';
import { Reclassifier } from './reclassifier.js';

const WAIT_MS = 1000;

/** ReclassifyTarget runs `reclassify` schedules: it reclassifies all assets under the current rules. */
@Injectable()
export class ReclassifyTarget implements ScheduleTarget {
  readonly scope = 'inventory:write' satisfies Scope;

  constructor(
    private readonly reclassifier: Reclassifier,
    targets: ScheduleTargets,
  ) {
    targets.serve('reclassify', this);
  }

  check(settings: Record<string, unknown>): void {
    assertNoSettings(settings);
  }

  /** Reclassifies all assets after pending rule changes have been applied. */
  async carryOut(): Promise<RunEnd> {
    for (;;) {
      const anew = await this.reclassifier.judgeAnew();
      if (anew === undefined) {
        await sleep(WAIT_MS);
        continue;
      }
      const { judged, changedAssets } = anew;
      return { ok: true, detail: `${judged} sets of facts were assessed; ${changedAssets} assets changed` };
    }
  }
}
