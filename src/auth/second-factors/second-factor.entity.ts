import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An authenticator app of a person (TOTP, RFC 6238). It counts from when a first code proved it. */
@Entity('second_factor')
@Index('second_factor_user', ['userId'])
export class SecondFactor {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** What the person calls it. */
  @Column('text')
  name: string;

  /** The shared secret, sealed. */
  @Column('bytea')
  seed: Buffer;

  /** Time step of the last code that was taken: no code counts twice. */
  @Column('bigint', { default: 0 })
  lastStep: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;
}
