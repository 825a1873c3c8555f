import { Column, Entity, PrimaryColumn } from 'typeorm';

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
