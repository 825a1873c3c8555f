import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A signed checkpoint. They are kept for good: each proves what the log was then. */
@Entity('log_checkpoint')
export class LogCheckpoint {
  /** Number of leaves. */
  @PrimaryColumn('bigint')
  size: string;

  @Column('bytea')
  root: Buffer;

  /** Signed note (C2SP tlog-checkpoint). */
  @Column('text')
  note: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
