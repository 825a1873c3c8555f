import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A single row with the rights that RightsLedger derived from the audit log, so that a process need not read the log from its first entry. An older snapshot is
 * valid as well.
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
