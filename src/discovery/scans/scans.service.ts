import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { Scope } from '../../access/scopes.js';
import { newId } from '../../platform/database/new-id.js';
import { checkedBody } from '../../platform/http/validation.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { type ScheduleTarget, ScheduleTargets, type StartingRun } from '../../platform/events/schedule-targets.js';
import { type ScanOrder, ScanPlanner } from './scan-planner.js';
import { ScanRepository } from './scan.repository.js';
import { CreateScanBody } from './scans.dto.js';

/** ScansService creates and cancels scans. */
@Injectable()
export class ScansService {
  constructor(
    private readonly db: DataSource,
    private readonly idempotency: IdempotencyKeys,
    private readonly planner: ScanPlanner,
    private readonly repository: ScanRepository,
  ) {}

  /** Creates a scan and returns its ID. Throws the Problems of ScanPlanner. */
  async create(caller: Caller, order: ScanOrder, use?: IdempotentUse): Promise<string> {
    const id = use?.resource ?? newId();
    const planned = await this.planner.plan(order);
    const recorded = await this.db.transaction(async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      const { requestId: correlation, address: source } = caller.origin;
      await this.repository.insert(tx, id, planned, { actor: caller, correlation, source });
      return id;
    });
    this.repository.committed();
    return recorded;
  }

  /**
   * Cancels a scan.
   * @throws Problem `scan.missing`, or `scan.over` if the scan has ended
   */
  cancel(caller: Caller, id: string): Promise<void> {
    return this.repository.cancel(caller, id);
  }
}

/**
 * DiscoveryScanTarget is the schedule target `discovery-scan`: a scan like those created by `POST /v1/scans`, validated when the schedule is created
 * and before each run.
 */
@Injectable()
export class DiscoveryScanTarget implements ScheduleTarget {
  readonly scope = 'discovery:run' satisfies Scope;

  constructor(
    targets: ScheduleTargets,
    private readonly planner: ScanPlanner,
    private readonly repository: ScanRepository,
  ) {
    targets.serve('discovery-scan', this);
  }

  async check(settings: Record<string, unknown>): Promise<void> {
    await this.planner.plan(await checkedBody(CreateScanBody, settings, '/settings'));
  }

  async start(tx: EntityManager, { runId, scheduleId, scheduleName, settings }: StartingRun): Promise<void> {
    const planned = await this.planner.plan(await checkedBody(CreateScanBody, settings, '/settings'));
    const actor = { kind: 'system', id: scheduleId, name: `schedule ${scheduleName}` } as const;
    await this.repository.insert(tx, newId(), planned, { actor, correlation: runId, runId });
  }
}
