import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How far a receiver of the audit log has got. The process that sends holds the row by its lease and its fence. */
@Entity('audit_stream')
export class AuditStream {
  /** Name of the destination in the settings. */
  @PrimaryColumn('text')
  id: string;

  /** Number of the first leaf that is not acknowledged. */
  @Column('bigint')
  position: string;

  /** Goes up with each claim. */
  @Column('bigint', { default: 0 })
  fence: string;

  /** When the row may be claimed: after the lease, or after the pause that follows a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  /** Failures since something was acknowledged. */
  @Column('int', { default: 0 })
  failures: number;

  @Column('text', { nullable: true })
  lastError: string | null;

  /** When something was acknowledged last. */
  @Column('timestamptz', { nullable: true })
  lastSuccessAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
