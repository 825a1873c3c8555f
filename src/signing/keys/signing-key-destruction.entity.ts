import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** That a signing key is to be destroyed, and how far that is. Calling it off removes the row. */
@Entity('signing_key_destruction')
@Index('signing_key_destruction_due', ['destroyAt'], { where: 'finished_at IS NULL' })
export class SigningKeyDestruction {
  @PrimaryColumn('uuid')
  keyId: string;

  /** Until then it can be called off. */
  @Column('timestamptz')
  destroyAt: Date;

  /** The process that carries it out. */
  @Column('uuid', { nullable: true })
  worker: string | null;

  /** Until then nobody else takes it: the worker is at it, or waits before it tries again. */
  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** A fence: what comes from an earlier attempt changes nothing. */
  @Column('int', { default: 0 })
  attempt: number;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
