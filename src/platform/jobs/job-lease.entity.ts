import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A job that one process does at a time, and when it was last done. */
@Entity('job_lease')
export class JobLease {
  @PrimaryColumn('text')
  name: string;

  /** The process that does it now; null between two runs. */
  @Column('uuid', { nullable: true })
  owner: string | null;

  /** A process that has died renews it no more, and another takes the job. */
  @Column('timestamptz')
  leaseUntil: Date;

  @Column('timestamptz', { nullable: true })
  lastSuccessAt: Date | null;

  /** Of the last run that failed after the last success; null when none has. */
  @Column('text', { nullable: true })
  lastError: string | null;
}
