import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../../platform/work/clock.js';
import { Background, isWorker } from '../../../platform/work/background.js';
import { type Count, countsOf, type TallyRow } from '../../model/tally.js';
import type { InventorySummary } from './inventory-counts.entity.js';
import { summaryOf } from './summary.js';

const DAY_MS = 24 * 3600 * 1000;
/** Dimensions that are not stored. Expiry has thousands of days, and its total is in the summary. The facts in verdicts are stored as separate dimensions. */
const LEFT_OUT = new Set(['expiry', 'verdict']);

/** SnapshotTaker stores the inventory at the end of each day (UTC). An existing snapshot is never replaced. */
@Injectable()
export class SnapshotTaker {
  constructor(
    private readonly db: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Takes yesterday's snapshot, unless the snapshot already exists. @returns the day, and whether a snapshot was created */
  @Background({
    name: 'inventory-snapshot',
    scope: 'process',
    every: 60_000,
    first: 0,
    when: isWorker,
    quotesErrors: false,
  })
  async takeLast(): Promise<{ readonly day: string; readonly taken: boolean }> {
    const day = new Date(this.clock.now().getTime() - DAY_MS).toISOString().slice(0, 10);
    return { day, taken: await this.take(day) };
  }

  private async take(day: string): Promise<boolean> {
    const there = (await this.db.query('SELECT 1 FROM inventory_snapshot WHERE day = $1', [day])) as unknown[];
    if (there.length > 0) return false;
    // One statement reads all counts, so that all counts are from the same moment.
    const rows: (TallyRow & { dimension: string })[] = await this.db.query(
      `SELECT dimension, value, level, sum(count) AS count FROM inventory_tally
       GROUP BY dimension, value, level HAVING sum(count) > 0 ORDER BY dimension, value COLLATE "C", level`,
    );
    const grouped = Map.groupBy(rows, ({ dimension }) => dimension);
    const counts = new Map<string, Count[]>([...grouped].map(([name, list]) => [name, countsOf(list)]));
    const summary: InventorySummary = summaryOf(counts, this.clock.now());
    const kept = Object.fromEntries([...counts].filter(([name]) => !LEFT_OUT.has(name)));
    const made = (await this.db.query(
      'INSERT INTO inventory_snapshot (day, summary, counts) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING day',
      [day, JSON.stringify(summary), JSON.stringify(kept)],
    )) as unknown[];
    return made.length > 0;
  }
}
