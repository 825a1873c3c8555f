import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RowWatch } from '../../platform/database/row-watch.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import type { Followed } from '../../platform/http/event-stream.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import { ScanResult, type ScanOutcome } from '../scan-result.entity.js';
import { isFinalScanStatus, Scan, type ScanStatus } from '../scan.entity.js';

export interface ScanProgress {
  /** Progress as an integer percentage. 100 when the scan has ended. */
  readonly percent: number;
  /** Number of open ports found. */
  readonly answered: number;
  /** Number of open ports that are not yet probed. */
  readonly pending: number;
}

export interface ShownScan extends Scan {
  readonly progress: ScanProgress;
}

/** Share of the sweep in the progress percentage. */
const SWEEP_SHARE = 0.8;

/** ScansReader reads scans, their results and their progress. */
@Injectable()
export class ScansReader implements BeforeApplicationShutdown {
  /** Watches scans that callers follow. */
  readonly watch = new RowWatch((ids) =>
    this.db.query(
      `SELECT s.id, concat_ws(' ', s.status, s.cursor,
         (SELECT count(*) FROM scan_result r WHERE r.scan_id = s.id AND r.outcome = 'PENDING')) AS mark
       FROM scan s WHERE s.id = ANY($1::uuid[])`,
      [ids],
    ),
  );

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  beforeApplicationShutdown(): void {
    this.watch.stop();
  }

  async get(id: string): Promise<ShownScan> {
    const scan = await this.db.manager.findOneBy(Scan, { id });
    if (scan === null) throw missing('scan');
    const [counts]: { answered: number; pending: number }[] = await this.db.query(
      `SELECT count(*)::int AS answered, count(*) FILTER (WHERE outcome = 'PENDING')::int AS pending FROM scan_result WHERE scan_id = $1`,
      [id],
    );
    const { answered, pending } = counts ?? { answered: 0, pending: 0 };
    return Object.assign(scan, { progress: { percent: percentOf(scan, answered, pending), answered, pending } });
  }

  /** Reads a scan in the form that `answerEvents` expects. */
  async follow<View>(id: string, viewOf: (scan: ShownScan) => View): Promise<Followed<View>> {
    const scan = await this.get(id);
    const mark = `${scan.status} ${scan.cursor} ${scan.progress.pending}`; // must match the query of the watch
    return { id, view: viewOf(scan), mark, final: isFinalScanStatus(scan.status) };
  }

  /** Returns scans, newest first. */
  async list({ limit, cursor, status }: PageQuery & { status?: ScanStatus }): Promise<Page<Scan>> {
    const list = `scans ${status ?? ''}`;
    const query = this.db.createQueryBuilder(Scan, 'scan');
    if (status !== undefined) query.andWhere('scan.status = :status', { status });
    return this.cursors.newest(list, query, { limit, cursor });
  }

  /** Returns results in the order in which they were found. */
  async results(scanId: string, filter: PageQuery & { outcome?: ScanOutcome }): Promise<Page<ScanResult>> {
    await this.get(scanId);
    const { limit = DEFAULT_LIMIT, cursor, outcome } = filter;
    const list = `scan-results ${scanId} ${outcome ?? ''}`;
    const [after] = this.cursors.read(list, cursor) ?? [];
    const query = this.db
      .createQueryBuilder(ScanResult, 'result')
      .where('result.scanId = :scanId', { scanId })
      .orderBy('result.id', 'ASC')
      .take(limit + 1);
    if (outcome !== undefined) query.andWhere('result.outcome = :outcome', { outcome });
    if (after !== undefined) query.andWhere('result.id > :after', { after });
    return this.cursors.page(list, await query.getMany(), limit, ({ id }) => [id]);
  }
}

function percentOf({ status, cursor, total }: Scan, answered: number, pending: number): number {
  if (isFinalScanStatus(status)) return 100;
  const swept = total === 0 ? 1 : cursor / total;
  const probed = answered === 0 || swept < 1 ? 0 : (answered - pending) / answered;
  return Math.min(99, Math.floor(100 * (swept * SWEEP_SHARE + probed * (1 - SWEEP_SHARE))));
}
