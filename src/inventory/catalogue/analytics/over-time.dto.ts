import { ApiProperty } from '@nestjs/swagger';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { Day, Optional } from '../../../platform/http/fields/fields.js';
import type { Page } from '../../../platform/http/cursors.js';
import { CountView, LevelCountsView } from './analytics.dto.js';
import type { SourceCount } from './analytics.reader.js';
import type { InventorySnapshot, InventorySummary } from './inventory-counts.entity.js';

export class OverTimeQuery {
  /** First day (UTC); defaults to two years before `to`. @example 2026-01-01 */
  @Optional(Day()) from?: string;
  /** Last day (UTC); defaults to today. @example 2026-12-31 */
  @Optional(Day()) to?: string;
}

export class DayParam {
  /** @example 2026-06-30 */
  @Day() day: string;
}

export class InventoryStandView {
  /** @example 100 */
  total: number;
  levels: LevelCountsView;
  /** Number of assets without a verdict, such as components that do not use cryptography directly. @example 0 */
  unjudged: number;
  /** Share of quantum-relevant assets that need no migration, from 0 to 1; null if there are no quantum-relevant assets. @example 0.57 */
  readiness: number | null;
  /** Share of classified assets whose quantum status is unknown, from 0 to 1; null if no asset is classified. @example 0.02 */
  unknown: number | null;
  /** Number of expired certificates and keys. @example 2 */
  expired: number;
  /** Number of assets whose first deadline is on or before the day. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { '2030-12-31': 20, '2031-12-31': 23, '2035-12-31': 43 },
  })
  due: Record<string, number>;

  static of(row: InventorySummary): InventoryStandView {
    const { due, total, levels, unjudged } = row;
    const counts = { value: '', count: total, levels: [...levels], unjudged };
    return viewOf(InventoryStandView, row, { levels: LevelCountsView.of([counts]), due: { ...due } });
  }
}

export class InventoryDayView extends InventoryStandView {
  /** Day of the snapshot (UTC). @example 2026-06-30 */
  day: string;
  takenAt: Date;
  /** Whether the snapshot is demo data. */
  demo: boolean;

  static ofSnapshot({ day, takenAt, demo, summary }: InventorySnapshot): InventoryDayView {
    return Object.assign(InventoryStandView.of(summary), { day, takenAt, demo });
  }
}

export class RiskOverTimeView {
  /** Days with a snapshot, each as of the end of the day. */
  items: InventoryDayView[];
  now: InventoryStandView;

  static of(snapshots: readonly InventorySnapshot[], now: InventorySummary): RiskOverTimeView {
    return {
      items: snapshots.map((snapshot) => InventoryDayView.ofSnapshot(snapshot)),
      now: InventoryStandView.of(now),
    };
  }
}

export class InventorySnapshotView extends InventoryDayView {
  kinds: CountView[];
  states: CountView[];
  quantum: CountView[];
  families: CountView[];
  sizes: CountView[];
  deadlines: CountView[];
  owners: CountView[];

  static ofWhole(snapshot: InventorySnapshot): InventorySnapshotView {
    const { counts } = snapshot;
    const views = (name: string) => (counts[name] ?? []).map((count) => CountView.of(count));
    return Object.assign(InventoryDayView.ofSnapshot(snapshot), {
      kinds: views('kind'),
      states: views('state'),
      quantum: views('quantum'),
      families: views('family'),
      sizes: views('size'),
      deadlines: views('deadline'),
      owners: views('owner'),
    });
  }
}

export class SourceCountView {
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  id: string;
  /** @example shop */
  name: string;
  /** @example 12 */
  total: number;
  levels: LevelCountsView;
  /** Number of assets without a verdict, such as components that do not use cryptography directly. @example 0 */
  unjudged: number;
  /** Time of the last report. Reports with identical content update this time at most once an hour. */
  lastSeen: Date;
  /** Time of the last count. Assets are recounted shortly after each change. */
  countedAt: Date;
}

export class SourceCountsView {
  /** Sources in descending order of their asset counts. */
  items: SourceCountView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of({ items, nextCursor }: Page<SourceCount>): SourceCountsView {
    return {
      items: items.map(({ id, name, total, levels, unjudged, lastSeen, countedAt }) => {
        const counted = LevelCountsView.of([{ value: name, count: total, levels, unjudged }]);
        return { id, name, total, levels: counted, unjudged, lastSeen, countedAt };
      }),
      nextCursor,
    };
  }
}
