import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../platform/time/clock.js';

/** What assets are counted by. */
export type Dimension = 'kind' | 'state' | 'quantum' | 'family' | 'size' | 'deadline' | 'expiry';

/** How many assets have a value, by level: index 0 is NONE, 4 is CRITICAL. */
export interface Count {
  readonly value: string;
  readonly count: number;
  readonly levels: number[];
  readonly unjudged: number;
}

/** Reads the running counts: a few hundred rows, however large the inventory is. */
@Injectable()
export class AnalyticsReader {
  constructor(
    private readonly db: DataSource,
    private readonly clock: Clock,
  ) {}

  async by(dimension: Dimension, from = '', to = '\uffff'): Promise<Count[]> {
    const rows: { value: string; level: number; count: string }[] = await this.db.query(
      `SELECT value, level, sum(count) AS count FROM inventory_tally
       WHERE dimension = $1 AND value COLLATE "C" >= $2 AND value COLLATE "C" <= $3
       GROUP BY value, level HAVING sum(count) > 0 ORDER BY value COLLATE "C", level`,
      [dimension, from, to],
    );
    const counts = new Map<string, Count>();
    for (const { value, level, count } of rows) {
      const known = counts.get(value) ?? { value, count: 0, levels: [0, 0, 0, 0, 0], unjudged: 0 };
      const levels = known.levels.map((number, index) => (index === level ? number + Number(count) : number));
      const unjudged = known.unjudged + (level < 0 ? Number(count) : 0);
      counts.set(value, { value, count: known.count + Number(count), levels, unjudged });
    }
    return [...counts.values()];
  }

  /** Certificates and keys by the day on which they end, from today on. */
  expiry(days: number): Promise<Count[]> {
    const today = this.clock.now();
    const last = new Date(today.getTime() + days * 24 * 3600 * 1000);
    return this.by('expiry', dayOf(today), dayOf(last));
  }

  /** Those that have ended. */
  async expired(): Promise<number> {
    const yesterday = new Date(this.clock.now().getTime() - 24 * 3600 * 1000);
    return (await this.by('expiry', '', dayOf(yesterday))).reduce((sum, { count }) => sum + count, 0);
  }
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
