import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Stands in for a lost authenticator, once. */
@Entity('recovery_code')
export class RecoveryCode {
  @PrimaryColumn('uuid')
  id: string;

  @Index('recovery_code_user')
  @Column('uuid')
  userId: string;

  /** SHA-256: 80 random bits need no slow hash. */
  @Column('bytea')
  hash: Buffer;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}
