import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { Count } from '../model/tally.js';

/** How many assets a source shows now. Counted again, a moment later, whenever that may have changed. */
@Entity('inventory_source_count')
@Index('inventory_source_count_total', ['total', 'sourceId'])
export class InventorySourceCount {
  @PrimaryColumn('uuid')
  sourceId: string;

  @Column('int')
  total: number;

  /** Index 0 is NONE, 4 is CRITICAL. */
  @Column('int', { array: true })
  levels: number[];

  @Column('int')
  unjudged: number;

  @Column('timestamptz', { default: () => 'now()' })
  countedAt: Date;
}

/** A source to be counted again. A transaction that changes its assets adds a row, without waiting for others. */
@Entity('inventory_recount')
@Index('inventory_recount_source', ['sourceId'])
export class InventoryRecount {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id: string;

  @Column('uuid')
  sourceId: string;
}

/**
 * Running counts of assets, so that a summary reads some hundred rows however many assets there are. Each ingest adds its
 * differences to one of a few slots; the count is the sum over the slots.
 */
@Entity('inventory_tally')
export class InventoryTally {
  /** kind, state, owner, quantum, family, size, deadline, expiry, or verdict: of the active ones. */
  @PrimaryColumn('text')
  dimension: string;

  @PrimaryColumn('text')
  value: string;

  /** -1 for assets without a verdict. */
  @PrimaryColumn('smallint')
  level: number;

  @PrimaryColumn('smallint')
  slot: number;

  @Column('bigint')
  count: string;
}

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
