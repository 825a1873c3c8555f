import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { Count } from '../../model/tally.js';

/** Number of assets that a source currently reports. The assets are recounted shortly after each change. */
@Entity('inventory_source_count')
@Index('inventory_source_count_total', ['total', 'sourceId'])
export class InventorySourceCount {
  @PrimaryColumn('uuid')
  sourceId: string;

  @Column('int')
  total: number;

  /** Counts by level, from NONE (index 0) to CRITICAL (index 4). */
  @Column('int', { array: true })
  levels: number[];

  @Column('int')
  unjudged: number;

  @Column('timestamptz', { default: () => 'now()' })
  countedAt: Date;
}

/**
 * A source that awaits a recount. Each transaction that changes the source's assets inserts a separate row, so that concurrent transactions do not block each
 * other.
 */
@Entity('inventory_recount')
@Index('inventory_recount_source', ['sourceId'])
export class InventoryRecount {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id: string;

  @Column('uuid')
  sourceId: string;
}

/**
 * Running counts of assets, from which a summary is computed by reading a few hundred rows, regardless of the inventory size. Each ingest adds the changes of
 * the counts to one of a few slots. A count is the sum of its slots.
 */
@Entity('inventory_tally')
export class InventoryTally {
  /** One of kind, state, owner, quantum, family, size, deadline, expiry and verdict. The verdict dimension counts active assets only. */
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

/** InventorySummary contains the key figures of the inventory. */
export interface InventorySummary {
  readonly total: number;
  /** Counts by level, from NONE (index 0) to CRITICAL (index 4). */
  readonly levels: readonly number[];
  readonly unjudged: number;
  /** Share of quantum-relevant assets that need no migration, from 0 to 1; null if there are no quantum-relevant assets. */
  readonly readiness: number | null;
  /** Share of classified assets whose quantum status is unknown, from 0 to 1; null if no asset is classified. */
  readonly unknown: number | null;
  readonly expired: number;
  /** Number of assets whose first deadline is on or before each day. */
  readonly due: Readonly<Record<string, number>>;
}

/** Snapshot of the inventory at the end of a day. A database trigger rejects changes to the row. */
@Entity('inventory_snapshot')
export class InventorySnapshot {
  /** Day of the snapshot (UTC). */
  @PrimaryColumn('date')
  day: string;

  @Column('timestamptz', { default: () => 'now()' })
  takenAt: Date;

  /** Whether the snapshot was generated as demo data and is deleted with the demo data. */
  @Column('boolean', { default: false })
  demo: boolean;

  @Column('jsonb')
  summary: InventorySummary;

  /** Counts by dimension. */
  @Column('jsonb')
  counts: Record<string, Count[]>;
}
