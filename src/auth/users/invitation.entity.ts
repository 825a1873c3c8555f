import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../scopes.js';

/** Leave to make an account, sent to one address, good once. */
@Entity('invitation')
export class Invitation {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  email: string;

  @Column('text', { array: true })
  roles: RoleName[];

  /** SHA-256 of the token in the link. */
  @Index('invitation_token', { unique: true })
  @Column('bytea')
  tokenHash: Buffer;

  @Column('text')
  invitedBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  acceptedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;
}
