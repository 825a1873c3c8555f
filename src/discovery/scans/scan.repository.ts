import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { columns } from '../../platform/database/columns.js';
import { newId } from '../../platform/database/new-id.js';
import { Inbox } from '../../platform/inbox/inbox.js';
import { ScheduledRuns } from '../../platform/schedules/scheduled-runs.js';
import { claimDue } from '../../platform/jobs/claim.js';
import { WORKER_ID } from '../../platform/jobs/lease.js';
import { ScanResult } from '../model/scan-result.entity.js';
import type { OpenPort, ProbeResult } from '../model/probe-result.js';
import { Scan } from '../model/scan.entity.js';
import { type ScanStatus, scanStatusesBefore } from '../model/scan-status.js';

const LEASE = `interval '30 seconds'`;
const SYSTEM = { kind: 'system', id: 'discovery', name: 'discovery' } as const;

/** The writes of scans. Each names its attempt: whoever lost the scan to another worker, or to a cancellation, writes nothing. */
@Injectable()
export class ScanRepository {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly inbox: Inbox,
    private readonly runs: ScheduledRuns,
  ) {}

  /** Takes scans that wait, or whose worker has not been heard of for the length of its lease. */
  async claim(most: number): Promise<Scan[]> {
    const rows = await claimDue<Pick<Scan, 'id'>>(
      this.db,
      {
        table: 'scan',
        where: `status = ANY($2) AND (status = 'QUEUED' OR sweep_at <= now())`,
        order: 'id',
        limit: most,
        set: `status = 'RUNNING', attempt = attempt + 1, worker = $1, sweep_at = now() + ${LEASE}, started_at = coalesce(started_at, now())`,
        returning: 't.id',
      },
      [WORKER_ID, scanStatusesBefore('RUNNING')],
    );
    const scans = await Promise.all(rows.map(({ id }) => this.db.manager.findOneByOrFail(Scan, { id })));
    return scans.filter(({ worker }) => worker === WORKER_ID);
  }

  /** Keeps the lease, how far the walk is, and who answered on the way. False when the scan is not this attempt's any more. */
  checkpoint(scan: Scan, cursor: number, openPorts: readonly OpenPort[]): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const [, kept]: [unknown, number] = await tx.query(
        `UPDATE scan SET cursor = greatest(cursor, $4), sweep_at = now() + ${LEASE} WHERE id = $1 AND attempt = $2 AND worker = $3 AND status = 'RUNNING'`,
        [scan.id, scan.attempt, WORKER_ID, cursor],
      );
      if (kept === 0 || openPorts.length === 0) return kept > 0;
      const protocol = scan.kind === 'tls-network' ? 'tls' : 'ssh';
      const rows = openPorts.map((door) => ({ id: newId(), scan_id: scan.id, ...door, protocol }));
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

  pending(scan: Scan, most: number): Promise<ScanResult[]> {
    return this.db.manager.find(ScanResult, {
      where: { scanId: scan.id, outcome: 'PENDING' },
      order: { id: 'ASC' },
      take: most,
    });
  }

  /** Keeps what was learnt, once: the row, and what other modules hear, in one transaction. */
  async settle(row: ScanResult, result: ProbeResult): Promise<boolean> {
    const { outcome, facts = null, hostId = null, reused = false, found, keys } = result;
    const settled = await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE scan_result SET outcome = $2, facts = $3, host_id = $4, reused = $5, at = now() WHERE id = $1 AND outcome = 'PENDING'`,
        [row.id, outcome, facts === null ? null : JSON.stringify(facts), hostId, reused],
      );
      if (moved === 0) return false;
      if (found !== undefined && found.assets.length > 0) await this.inbox.add(tx, 'inventory.assets-found', found);
      if (keys !== undefined) await this.inbox.add(tx, 'ssh-keys.found', keys);
      return true;
    });
    if (settled && found !== undefined) this.inbox.committed('inventory.assets-found');
    if (settled && keys !== undefined) this.inbox.committed('ssh-keys.found');
    return settled;
  }

  /** False when it was cancelled, or is another worker's, by now. */
  async finish(scan: Scan, status: Extract<ScanStatus, 'DONE' | 'FAILED'>): Promise<boolean> {
    return await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE scan SET status = $4, failure_code = CASE WHEN $4 = 'FAILED' THEN 'scan.worker-lost' END, worker = NULL, finished_at = now() WHERE id = $1 AND attempt = $2 AND worker = $3 AND status = ANY($5)`,
        [scan.id, scan.attempt, WORKER_ID, status, scanStatusesBefore(status)],
      );
      if (moved === 0) return false;
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
        ? `Scan ${id}: ${found} found, ${others} without an answer that says what they are.`
        : `Scan ${id} took down every worker that ran it.`;
    await this.runs.end(tx, runId, { ok: status === 'DONE', detail });
  }

  /** Gives a scan back, so that another worker goes on at once. */
  async release(scan: Scan): Promise<void> {
    await this.db.query(
      `UPDATE scan SET sweep_at = now(), worker = NULL WHERE id = $1 AND attempt = $2 AND worker = $3 AND status = 'RUNNING'`,
      [scan.id, scan.attempt, WORKER_ID],
    );
  }
}
