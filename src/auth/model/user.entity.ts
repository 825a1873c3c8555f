import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../../access/scopes.js';

@Entity('user_account')
export class User {
  @PrimaryColumn('uuid')
  id: string;

  /** One canonical form: NFKC, trimmed, lower case. */
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
