import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Count } from '../model/tally.js';

/** The inventory in a few numbers. */
export interface InventorySummary {
  readonly total: number;
  /** Index 0 is NONE, 4 is CRITICAL. */
  readonly levels: readonly number[];
  readonly unjudged: number;
  /** Share of the assets that a quantum computer matters to which need no migration, from 0 to 1; null without any. */
  readonly readiness: number | null;
  /** Share of the judged assets about which nothing is known. */
  readonly unknown: number | null;
  readonly expired: number;
  /** Assets whose first deadline is not after this day, by the day. */
  readonly due: Readonly<Record<string, number>>;
}

/** The inventory at the end of a day. A trigger of the database forbids later changes. */
@Entity('inventory_snapshot')
export class InventorySnapshot {
  /** UTC. */
  @PrimaryColumn('date')
  day: string;

  @Column('timestamptz', { default: () => 'now()' })
  takenAt: Date;

  /** Made up for the demo; removed with it. */
  @Column('boolean', { default: false })
  demo: boolean;

  @Column('jsonb')
  summary: InventorySummary;

  /** Counts by dimension. */
  @Column('jsonb')
  counts: Record<string, Count[]>;
}
