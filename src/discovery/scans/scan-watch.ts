import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RowWatch } from '../../platform/database/row-watch.js';
import type { Followed } from '../../platform/http/event-stream.js';
import { isFinalScanStatus } from '../model/scan-status.js';
import { ScansReader, type ShownScan } from './scans.reader.js';

/** Watches scans on behalf of callers who follow them. */
@Injectable()
export class ScanWatch implements BeforeApplicationShutdown {
  readonly rows: RowWatch;

  constructor(
    db: DataSource,
    private readonly reader: ScansReader,
  ) {
    this.rows = new RowWatch((ids) =>
      db.query(
        `SELECT s.id, concat_ws(' ', s.status, s.cursor,
           (SELECT count(*) FROM scan_result r WHERE r.scan_id = s.id AND r.outcome = 'PENDING')) AS mark
         FROM scan s WHERE s.id = ANY($1::uuid[])`,
        [ids],
      ),
    );
  }

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }

  /** For `answerEvents`. */
  async follow<View>(id: string, viewOf: (scan: ShownScan) => View): Promise<Followed<View>> {
    const scan = await this.reader.get(id);
    return { id, view: viewOf(scan), mark: markOf(scan), final: isFinalScanStatus(scan.status) };
  }
}

/** What the watch looks for: the same as in its query. */
function markOf({ status, cursor, progress }: ShownScan): string {
  return `${status} ${cursor} ${progress.pending}`;
}
