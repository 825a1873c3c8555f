import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Leave to set a new password, sent to the address of the account, good once. */
@Entity('password_reset')
export class PasswordReset {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** SHA-256 of the token in the link. */
  @Index('password_reset_token', { unique: true })
  @Column('bytea')
  tokenHash: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}
