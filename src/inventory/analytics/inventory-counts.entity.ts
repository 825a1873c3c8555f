import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

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
