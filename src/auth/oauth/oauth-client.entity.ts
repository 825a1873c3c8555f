import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../access/scopes.js';

/** A program that gets tokens at /oauth/token. Its id is the client_id. */
@Entity('oauth_client')
export class OAuthClient {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** The most that its tokens can be good for. */
  @Column('text', { array: true })
  permissions: Scope[];

  /** SHA-256; null for a public client, which can keep no secret and only acts for people (RFC 6749 section 2.1). */
  @Column('bytea', { nullable: true })
  secretHash: Buffer | null;

  /** The person who created it. */
  @Column('text')
  ownerId: string;

  /** The person who was shown the present secret, where that was not the owner: the client does no more than they may, either. */
  @Column('text', { nullable: true })
  issuedTo: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;
}
