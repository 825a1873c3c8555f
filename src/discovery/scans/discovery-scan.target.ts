import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Scope } from '../../access/scopes.js';
import { newId } from '../../platform/database/new-id.js';
import { checkedBody } from '../../platform/http/validation.js';
import { type ScheduleTarget, ScheduleTargets, type StartingRun } from '../../platform/schedules/schedule-targets.js';
import { ScanOrders } from './scan-planner.js';
import { CreateScanBody } from './scans.dto.js';

/** `discovery-scan`: a scan as `POST /v1/scans` takes it. What it may reach is judged when the schedule is made, and again at each run. */
@Injectable()
export class DiscoveryScanTarget implements ScheduleTarget {
  readonly scope = 'discovery:run' satisfies Scope;

  constructor(
    targets: ScheduleTargets,
    private readonly orders: ScanOrders,
  ) {
    targets.serve('discovery-scan', this);
  }

  async check(settings: Record<string, unknown>): Promise<void> {
    await this.orders.plan(await checkedBody(CreateScanBody, settings, '/settings'));
  }

  async start(tx: EntityManager, { runId, scheduleId, scheduleName, settings }: StartingRun): Promise<void> {
    const planned = await this.orders.plan(await checkedBody(CreateScanBody, settings, '/settings'));
    const actor = { kind: 'system', id: scheduleId, name: `schedule ${scheduleName}` } as const;
    await this.orders.put(tx, newId(), planned, { actor, correlation: runId, runId });
  }
}
