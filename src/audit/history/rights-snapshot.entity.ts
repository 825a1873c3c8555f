import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A single row: the part of the audit log that RightsLedger has read, so that a process need not start at the first entry. Any older snapshot works
 * as well.
 */
@Entity('rights_snapshot')
export class RightsSnapshot {
  /** Always true. */
  @PrimaryColumn('boolean', { default: true })
  only: boolean;

  /** Number of leaves that were read. */
  @Column('bigint')
  size: string;

  /** The tree and the history, as JSON. */
  @Column('text')
  content: string;

  /** Seal of `content` (RowSeals). */
  @Column('bytea')
  seal: Buffer;
}
