import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../../access/scopes.js';

@Entity('user_account')
@Index('user_account_administrators', ['id'], { where: "'admin' = ANY(roles)" })
export class User {
  @PrimaryColumn('uuid')
  id: string;

  /** Canonical form: NFKC, trimmed, lower case. */
  @Index('user_account_email', { unique: true })
  @Column('text')
  email: string;

  /** PHC string of argon2id; null for people who only come by an identity provider. */
  @Column('text', { nullable: true })
  passwordHash: string | null;

  @Column('text', { array: true })
  roles: RoleName[];

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** A link to set a new password: sent to the address of the account, valid once. */
@Entity('password_reset')
export class PasswordReset {
  @PrimaryColumn('uuid')
  id: string;

  @Index('password_reset_user')
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
