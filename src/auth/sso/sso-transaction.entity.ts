import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** One attempt to sign in elsewhere. STARTED → (TAKEN →) ARRIVED, once; ARRIVED → gone, once. */
@Entity('sso_transaction')
@Index('sso_transaction_expires', ['expiresAt'])
export class SsoTransaction {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  providerId: string;

  /** SHA-256 of `state` of OIDC, or of the id of the AuthnRequest of SAML. */
  @Index('sso_transaction_key', { unique: true })
  @Column('bytea')
  keyHash: Buffer;

  /** SHA-256 of the cookie of the browser that began. */
  @Column('bytea')
  browserHash: Buffer;

  /** Nonce and PKCE verifier, sealed. */
  @Column('bytea')
  secrets: Buffer;

  /** Path on this site to go to afterwards. */
  @Column('text')
  returnTo: string;

  /** The person gets a session in the cookie of the browser, and no ticket. */
  @Column('boolean', { default: false })
  forBrowser: boolean;

  /** The session to step up; null for a new one. */
  @Column('uuid', { nullable: true })
  sessionId: string | null;

  @Column('text')
  status: 'STARTED' | 'TAKEN' | 'ARRIVED';

  /** Who arrived. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  /** SHA-256 of the ticket that the browser exchanges for tokens. */
  @Index('sso_transaction_ticket', { unique: true })
  @Column('bytea', { nullable: true })
  ticketHash: Buffer | null;

  @Column('timestamptz')
  expiresAt: Date;
}
