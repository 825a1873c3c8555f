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
   * Ids of the confirmed second factors, in order, so that a factor that is deleted in the database is missed. Null until the rows of an earlier
   * version are adopted.
   */
  @Column('text', { array: true, nullable: true })
  factors: string[] | null;

  /** Counts the changes of the row, so that a process which has read a later state refuses an earlier one. Null in rows of an earlier version. */
  @Column('int', { nullable: true })
  revision: number | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** A link to set a new password: sent to the address of the account, valid once. */
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
