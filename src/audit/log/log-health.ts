import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { HealthIndicators, type Indication } from '../../platform/health/health-indicators.js';

/** Entries have their number after about a second; after this long somebody should look. */
const LATE_MS = 60_000;

/** Whether entries get their number in the tree. */
@Injectable()
export class LogHealth {
  constructor(
    private readonly db: DataSource,
    indicators: HealthIndicators,
  ) {
    indicators.add('log', () => this.read());
  }

  private async read(): Promise<Indication> {
    const [oldest]: { id: string }[] = await this.db.query(
      `SELECT entry_id AS id FROM log_waiting ORDER BY entry_id LIMIT 1`,
    );
    const [checkpoint]: { size: string }[] = await this.db.query(
      `SELECT size FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
    );
    const detail = `a checkpoint is signed over ${checkpoint?.size ?? 0} leaves`;
    if (oldest === undefined || Date.now() - madeAt(oldest.id) < LATE_MS) return { status: 'UP', detail };
    const since = new Date(madeAt(oldest.id)).toISOString();
    return { status: 'DOWN', detail: `entries wait for their number since ${since}; ${detail}` };
  }
}

/** Milliseconds since 1970 in a UUIDv7 (RFC 9562 section 5.7). */
function madeAt(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
