import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { ScheduledRuns } from '../../platform/schedules/scheduled-runs.js';
import { type ScanOrder, ScanOrders } from './scan-planner.js';
import { Scan } from '../model/scan.entity.js';
import { scanStatusesBefore } from '../model/scan-status.js';

/** Orders scans, and cancels them. */
@Injectable()
export class ScansService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly orders: ScanOrders,
    private readonly runs: ScheduledRuns,
  ) {}

  /** Answers the id of the scan. Throws the Problems of ScanOrders. */
  async create(caller: Caller, order: ScanOrder, use?: IdempotentUse): Promise<string> {
    const id = use?.resource ?? newId();
    const planned = await this.orders.plan(order);
    const made = await this.db.transaction(async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      const { requestId: correlation, address: source } = caller.origin;
      await this.orders.put(tx, id, planned, { actor: caller, correlation, source });
      return id;
    });
    this.orders.committed();
    return made;
  }

  /** Ends a scan where it is. What it found stays. Throws Problem `scan.over` when it has ended. */
  async cancel(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [moved]: [{ runId: string | null }[], number] = await tx.query(
        `UPDATE scan SET status = 'CANCELLED', worker = NULL, finished_at = now() WHERE id = $1 AND status = ANY($2)
         RETURNING run_id AS "runId"`,
        [id, scanStatusesBefore('CANCELLED')],
      );
      const [scan] = moved;
      if (scan === undefined && !(await tx.existsBy(Scan, { id })))
        throw new Problem('missing', 'scan.missing', 'There is no scan with this id.');
      if (scan === undefined) throw new Problem('conflict', 'scan.over', 'The scan has ended already.');
      if (scan.runId !== null)
        await this.runs.end(tx, scan.runId, { ok: false, detail: 'Somebody cancelled the scan.' });
      const target = { kind: 'scan', id };
      await this.audit.appendBy(tx, caller, { action: 'scan.cancelled', target });
    });
  }
}
