import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../../access/scopes.js';

@Entity('user_account')
@Index('user_account_administrators', ['id'], { where: "'admin' = ANY(roles)" })
@Sealed<User>({
  except: ['createdAt'],
  edits: 'revision',
  countsEdits: true,
  list: {
    column: 'factors',
    now: `(SELECT coalesce(array_agg(f.id::text ORDER BY f.id), '{}') FROM second_factor f WHERE f.user_id = t.id AND f.confirmed_at IS NOT NULL)`,
  },
})
export class User extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Canonical form: NFKC, trimmed, lower case. */
  @Index('user_account_email', { unique: true })
  @Index('user_account_email_prefix', { synchronize: false })
  @Column('text')
  email: string;

  /** PHC string of argon2id. Null for users who sign in only through an identity provider. */
  @Column('text', { nullable: true })
  passwordHash: string | null;

  @Column('text', { array: true })
  roles: RoleName[];

  @Column('boolean', { default: false })
  disabled: boolean;

  /**
   * Sorted IDs of the confirmed second factors, so that a factor deleted directly in the database is detected. Null until the rows of an earlier version are
   * adopted.
   */
  @Column('text', { array: true, nullable: true })
  factors: string[] | null;

  /**
   * Counter, which each change to the row increments, so that a process that has read a later state rejects an earlier state. Null in rows written by earlier
   * versions.
   */
  @Column('int', { nullable: true })
  revision: number | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** PasswordReset is a single-use link to set a new password. */
@Entity('password_reset')
@Sealed<PasswordReset>({
  except: ['createdAt'],
  while: 't.used_at IS NULL AND t.expires_at > now()',
})
export class PasswordReset extends SealedEntity {
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
