import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Recent attempts of one kind, under a keyed hash: the text that people typed is not stored. */
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
