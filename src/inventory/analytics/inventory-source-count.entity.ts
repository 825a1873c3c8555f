import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** How many assets a source shows now. Counted anew, a moment later, whenever that may have changed. */
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

/** A source to be counted anew. Whoever changes its assets adds a row and waits for nobody. */
@Entity('inventory_recount')
export class InventoryRecount {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id: string;

  @Column('uuid')
  sourceId: string;
}
