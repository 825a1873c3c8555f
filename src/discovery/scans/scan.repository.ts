import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import type { Actor, Caller } from '../../access/caller.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { columns } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Inbox } from '../../platform/queue/inbox.js';
import { Outbox } from '../../platform/queue/outbox.js';
import { ScheduledRuns } from '../../platform/events/schedule-targets.js';
import { WORKER_ID } from '../../platform/work/claim.js';
import { dueRowsOf, WorkQueue } from '../../platform/work/work-queue.js';
import { type OpenPort, type ProbeResult, ScanResult } from '../scan-result.entity.js';
import { DISCOVERY_QUEUE, Scan, type ScanStatus, scanStatusesBefore, ScanScope } from '../scan.entity.js';
import type { PlannedScan } from './scan-planner.js';

export interface ScanOrigin {
  readonly actor: Actor;
  readonly correlation: string;
  readonly source?: string;
  /** Schedule run that starts the scan, if any. */
  readonly runId?: string;
}

const QUEUE = {
  table: 'scan',
  attempt: 'attempt',
  dueAt: 'sweep_at',
  open: `status IN ('QUEUED', 'RUNNING')`,
  order: 'id',
  columns: 't.worker',
  begin: `status = 'RUNNING', worker = '${WORKER_ID}', started_at = coalesce(started_at, now())`,
  leaseSeconds: 30,
};
/** DUE_SCAN selects queued scans and scans whose lease has expired. */
export const DUE_SCAN = dueRowsOf(QUEUE);
const SYSTEM = { kind: 'system', id: 'discovery', name: 'discovery' } as const;

/**
 * ScanRepository reads and writes scans. Each write by a worker includes its attempt number, so the write has no effect once the scan is cancelled or claimed
 * by another worker.
 */
@Injectable()
export class ScanRepository {
  private readonly queue: WorkQueue<Pick<Scan, 'id' | 'attempt' | 'worker'>>;

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly inbox: Inbox,
    private readonly outbox: Outbox,
    private readonly runs: ScheduledRuns,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
  }

  /** Records a scan with its audit entry and the outbox signal for a worker. */
  async insert(tx: EntityManager, id: string, planned: PlannedScan, origin: ScanOrigin): Promise<void> {
    const { actor, correlation, source, runId = null } = origin;
    const { scopeName, ...row } = planned;
    await tx.insert(Scan, { ...row, id, correlation, runId, status: 'QUEUED', requestedBy: actor.name });
    const detail = { kind: row.kind, scope: scopeName, targets: row.targets.slice(0, 50), ports: row.ports };
    const target = { kind: 'scan', id };
    await this.audit.append(tx, [{ action: 'scan.ordered', actor, target, correlation, source, detail }]);
    await this.outbox.add(tx, DISCOVERY_QUEUE, [id]);
  }

  /** Signals workers. Call this after the transaction of `insert` has committed. */
  committed(): void {
    this.outbox.committed(DISCOVERY_QUEUE);
  }

  /** Returns the scope of a scan, undefined for an `ssh-deep` scan, which has no scope, or null if the scope was deleted. */
  async scopeOf({ kind, scopeId }: Scan): Promise<ScanScope | undefined | null> {
    if (kind === 'ssh-deep') return undefined;
    return scopeId === null ? null : this.db.manager.findOneBy(ScanScope, { id: scopeId });
  }

  /** Claims at most `max` due scans. Scans that are deleted, cancelled or claimed by another worker in the meantime are omitted. */
  async claim(max: number): Promise<Scan[]> {
    const rows = await this.queue.claim(max);
    const scans = await this.db.manager.findBy(Scan, { id: In(rows.map(({ id }) => id)) });
    return scans.filter(({ worker }) => worker === WORKER_ID);
  }

  /** Renews the lease and records the cursor with the open ports before it. Returns false if this attempt no longer owns the scan. */
  checkpoint(scan: Scan, cursor: number, openPorts: readonly OpenPort[]): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const isOurs = await this.queue.write(scan, `cursor = greatest(cursor, $3), ${this.queue.lease}`, [cursor], tx);
      if (!isOurs || openPorts.length === 0) return isOurs;
      const protocol = scan.kind === 'tls-network' ? 'tls' : 'ssh';
      const rows = openPorts.map((openPort) => ({ id: newId(), scan_id: scan.id, ...openPort, protocol }));
      const { from, values } = columns(rows, {
        id: 'uuid',
        scan_id: 'uuid',
        target: 'text',
        address: 'text',
        port: 'int',
        protocol: 'text',
      });
      await tx.query(
        `INSERT INTO scan_result (id, scan_id, target, address, port, protocol, outcome)
         SELECT id, scan_id, target, address, port, protocol, 'PENDING' FROM ${from} ON CONFLICT DO NOTHING`,
        values,
      );
      return true;
    });
  }

  pending(scan: Scan, max: number): Promise<ScanResult[]> {
    return this.db.manager.find(ScanResult, {
      where: { scanId: scan.id, outcome: 'PENDING' },
      order: { id: 'ASC' },
      take: max,
    });
  }

  /** Records a result, and the messages for the inventory and the SSH key module, in one transaction. Returns false if the result was already recorded. */
  async recordAndHandOver(row: ScanResult, result: ProbeResult): Promise<boolean> {
    const { outcome, facts = null, hostId = null, reused = false, found, keys } = result;
    const isNew = await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE scan_result SET outcome = $2, facts = $3, host_id = $4, reused = $5, at = now() WHERE id = $1 AND outcome = 'PENDING'`,
        [row.id, outcome, facts === null ? null : JSON.stringify(facts), hostId, reused],
      );
      if (moved === 0) return false;
      if (found !== undefined && found.assets.length > 0) await this.inbox.add(tx, 'inventory.assets-found', found);
      if (keys !== undefined) await this.inbox.add(tx, 'ssh-keys.found', keys);
      return true;
    });
    if (isNew && found !== undefined) this.inbox.committed('inventory.assets-found');
    if (isNew && keys !== undefined) this.inbox.committed('ssh-keys.found');
    return isNew;
  }

  /** Ends a scan and its schedule run. Returns false if the scan was cancelled or belongs to another worker. */
  async finish(scan: Scan, status: Extract<ScanStatus, 'DONE' | 'FAILED'>): Promise<boolean> {
    return await this.db.transaction(async (tx) => {
      const failure = `failure_code = CASE WHEN $3 = 'FAILED' THEN 'scan.worker-lost' END`;
      const end = `status = $3, ${failure}, worker = NULL, finished_at = now()`;
      if (!(await this.queue.write(scan, end, [status], tx))) return false;
      if (scan.runId !== null) await this.endRun(tx, scan, scan.runId, status);
      const action = status === 'DONE' ? 'scan.done' : 'scan.failed';
      const target = { kind: 'scan', id: scan.id };
      await this.audit.append(tx, [
        {
          action,
          outcome: status === 'DONE' ? 'done' : 'failed',
          actor: SYSTEM,
          target,
          correlation: scan.correlation,
        },
      ]);
      return true;
    });
  }

  private async endRun(tx: EntityManager, { id }: Scan, runId: string, status: ScanStatus): Promise<void> {
    const [counts]: { found: number; others: number }[] = await tx.query(
      `SELECT count(*) FILTER (WHERE outcome = 'FOUND')::int AS found, count(*) FILTER (WHERE outcome <> 'FOUND')::int AS others
       FROM scan_result WHERE scan_id = $1`,
      [id],
    );
    const { found = 0, others = 0 } = counts ?? {};
    const detail =
      status === 'DONE'
        ? `Scan ${id}: ${found} found, ${others} without a usable response.`
        : `Scan ${id} failed: every worker that claimed it was lost.`;
    await this.runs.end(tx, runId, { ok: status === 'DONE', detail });
  }

  /**
   * Cancels a scan at its cursor. Results that are already recorded remain.
   * @throws Problem `scan.missing` or `scan.over`
   */
  async cancel(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [[scan]]: [{ runId: string | null }[], number] = await tx.query(
        `UPDATE scan SET status = 'CANCELLED', worker = NULL, finished_at = now() WHERE id = $1 AND status = ANY($2)
         RETURNING run_id AS "runId"`,
        [id, scanStatusesBefore('CANCELLED')],
      );
      if (scan === undefined && !(await tx.existsBy(Scan, { id }))) throw missing('scan');
      if (scan === undefined) throw new Problem('conflict', 'scan.over', 'The scan has already ended.');
      if (scan.runId !== null)
        await this.runs.end(tx, scan.runId, { ok: false, detail: 'The scan was cancelled by a user.' });
      await this.audit.appendBy(tx, caller, { action: 'scan.cancelled', target: { kind: 'scan', id } });
    });
  }

  /** Releases a scan, so that another worker can resume it immediately. */
  async release(scan: Scan): Promise<void> {
    await this.queue.postpone(scan, 0, 'worker = NULL');
  }
}
