import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** How often something was tried of late, under a keyed hash: what people type is not kept. */
@Entity('attempt_count')
@Index('attempt_count_updated', ['updatedAt'])
export class AttemptCount {
  @PrimaryColumn('bytea')
  key: Buffer;

  @Column('int')
  attempts: number;

  @Column('timestamptz')
  blockedUntil: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
