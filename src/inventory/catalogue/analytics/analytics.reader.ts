import { Injectable } from '@nestjs/common';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../../platform/http/cursors.js';
import { missing } from '../../../platform/errors/problem.js';
import { ReadReplica } from '../../../platform/instances/read-replica.js';
import { Clock } from '../../../platform/work/clock.js';
import type { InventorySnapshot, InventorySummary } from './inventory-counts.entity.js';
import { type Count, countsOf, type TallyRow } from '../../model/tally.js';
import { summaryOf } from './summary.js';

/** Dimension is a property by which assets are counted. */
export type Dimension = 'kind' | 'state' | 'owner' | 'quantum' | 'family' | 'size' | 'deadline' | 'expiry';

/** SourceCount is a source with the number of assets that it reports. */
export interface SourceCount {
  readonly id: string;
  readonly name: string;
  readonly total: number;
  readonly levels: number[];
  readonly unjudged: number;
  readonly lastSeen: Date;
  readonly countedAt: Date;
}

/** AnalyticsReader reads the running counts: a few hundred rows, regardless of the inventory size. */
@Injectable()
export class AnalyticsReader {
  constructor(
    private readonly reads: ReadReplica,
    private readonly clock: Clock,
    private readonly cursors: Cursors,
  ) {}

  async by(dimension: Dimension, from = '', to = '\uffff'): Promise<Count[]> {
    const rows: TallyRow[] = await this.reads.db.query(
      `SELECT value, level, sum(count) AS count FROM inventory_tally
       WHERE dimension = $1 AND value COLLATE "C" >= $2 AND value COLLATE "C" <= $3
       GROUP BY value, level HAVING sum(count) > 0 ORDER BY value COLLATE "C", level`,
      [dimension, from, to],
    );
    return countsOf(rows);
  }

  /** Returns sources in descending order of their asset counts. */
  async sources(limit = DEFAULT_LIMIT, cursor?: string): Promise<Page<SourceCount>> {
    const list = 'inventory sources';
    const [total, id] = this.cursors.read(list, cursor) ?? [];
    const rows: SourceCount[] = await this.reads.db.query(
      `SELECT i.id, i.name, c.total, c.levels, c.unjudged, i.last_seen AS "lastSeen", c.counted_at AS "countedAt"
       FROM inventory_source_count c JOIN inventory_source i ON i.id = c.source_id
       WHERE $1::int IS NULL OR (c.total, c.source_id) < ($1, $2::uuid)
       ORDER BY c.total DESC, c.source_id DESC LIMIT ${limit + 1}`,
      [total ?? null, id ?? null],
    );
    return this.cursors.page(list, rows, limit, (row) => [String(row.total), row.id]);
  }

  /** Returns the daily snapshots in ascending order, without their counts. `from` and `to` are days (YYYY-MM-DD, inclusive). */
  async overTime(from: string, to: string): Promise<InventorySnapshot[]> {
    return this.reads.db.query(
      `SELECT day::text, taken_at AS "takenAt", demo, summary FROM inventory_snapshot WHERE day BETWEEN $1 AND $2 ORDER BY day`,
      [from, to],
    );
  }

  /** @throws Problem 404 `snapshot.missing`. */
  async snapshot(day: string): Promise<InventorySnapshot> {
    const [row] = (await this.reads.db.query(
      'SELECT day::text, taken_at AS "takenAt", demo, summary, counts FROM inventory_snapshot WHERE day = $1',
      [day],
    )) as InventorySnapshot[];
    if (row === undefined) throw missing('snapshot');
    return row;
  }

  async summary(): Promise<InventorySummary> {
    const dimensions = ['kind', 'quantum', 'deadline', 'expiry'] as const;
    const counts = await Promise.all(dimensions.map(async (name) => [name, await this.by(name)] as const));
    return summaryOf(new Map(counts), this.clock.now());
  }

  /** Counts certificates and keys by expiry date, from today onwards. */
  expiry(days: number): Promise<Count[]> {
    const today = this.clock.now();
    const last = new Date(today.getTime() + days * 24 * 3600 * 1000);
    return this.by('expiry', dayOf(today), dayOf(last));
  }

  /** Counts certificates and keys that have expired. */
  async expired(): Promise<number> {
    const yesterday = new Date(this.clock.now().getTime() - 24 * 3600 * 1000);
    return (await this.by('expiry', '', dayOf(yesterday))).reduce((sum, { count }) => sum + count, 0);
  }
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
