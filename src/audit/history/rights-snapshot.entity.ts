import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: what RightsLedger had read of the audit log, so that a process does not begin with the first entry. Any older snapshot will do. */
@Entity('rights_snapshot')
export class RightsSnapshot {
  /** Always true. */
  @PrimaryColumn('boolean', { default: true })
  only: boolean;

  /** Leaves that were read. */
  @Column('bigint')
  size: string;

  /** The tree and the history, as JSON. */
  @Column('text')
  content: string;

  /** Seal of `content` (RowSeals). */
  @Column('bytea')
  seal: Buffer;
}
