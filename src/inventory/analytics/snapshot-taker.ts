import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { Clock } from '../../platform/time/clock.js';
import { type Count, countsOf, type TallyRow } from './count.js';
import type { InventorySummary } from './inventory-snapshot.entity.js';
import { summaryOf } from './summary.js';

const EVERY_MS = 60_000;
const DAY_MS = 24 * 3600 * 1000;
/** Of certificates by day there are thousands of values; what has ended is in the summary. */
const LEFT_OUT = new Set(['expiry']);

/**
 * Keeps how the inventory stood at the end of each day (UTC). What was not running at midnight looks as soon as it runs: nothing
 * changes meanwhile. A day that has its snapshot keeps it, whatever is learned later.
 */
@Injectable()
export class SnapshotTaker implements OnApplicationBootstrap {
  private readonly logger = new Logger(SnapshotTaker.name);
  private taken = '';

  constructor(
    private readonly db: DataSource,
    private readonly clock: Clock,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.look();
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    const day = new Date(this.clock.now().getTime() - DAY_MS).toISOString().slice(0, 10);
    if (day === this.taken) return;
    try {
      await this.take(day);
      this.taken = day;
    } catch (error) {
      this.logger.warn(`no snapshot was taken: ${error instanceof Error ? error.name : 'unknown'}`);
    }
  }

  private async take(day: string): Promise<void> {
    const there = (await this.db.query('SELECT 1 FROM inventory_snapshot WHERE day = $1', [day])) as unknown[];
    if (there.length > 0) return;
    // One statement: all counts of one moment.
    const rows: (TallyRow & { dimension: string })[] = await this.db.query(
      `SELECT dimension, value, level, sum(count) AS count FROM inventory_tally
       GROUP BY dimension, value, level HAVING sum(count) > 0 ORDER BY dimension, value COLLATE "C", level`,
    );
    const grouped = Map.groupBy(rows, ({ dimension }) => dimension);
    const counts = new Map<string, Count[]>([...grouped].map(([name, list]) => [name, countsOf(list)]));
    const summary: InventorySummary = summaryOf(counts, this.clock.now());
    const kept = Object.fromEntries([...counts].filter(([name]) => !LEFT_OUT.has(name)));
    await this.db.query(
      'INSERT INTO inventory_snapshot (day, summary, counts) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [day, JSON.stringify(summary), JSON.stringify(kept)],
    );
  }
}
