import { Sealed, SealedEntity } from '../../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * An attempt to sign in at a provider. STARTED → (TAKEN →) ARRIVED, once; ARRIVED → removed, once. A test of a provider is TESTING → (TAKEN →)
 * TESTED, once; TESTED → removed, once.
 */
@Entity('sso_transaction')
@Index('sso_transaction_expires', ['expiresAt'])
@Index('sso_transaction_user', ['userId'], { where: 'user_id IS NOT NULL' })
@Sealed<SsoTransaction>({
  except: [],
  while: 't.expires_at > now()',
})
export class SsoTransaction extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  providerId: string;

  /** SHA-256 of `state` in OIDC, or of the AuthnRequest's ID in SAML. */
  @Index('sso_transaction_key', { unique: true })
  @Column('bytea')
  keyHash: Buffer;

  /** SHA-256 of the cookie in the browser that started the attempt. */
  @Column('bytea')
  browserHash: Buffer;

  /** Nonce and PKCE verifier, sealed. */
  @Column('bytea')
  secrets: Buffer;

  /** Path on this site to return to. */
  @Column('text')
  returnTo: string;

  /** Whether the browser receives a session in a cookie instead of a ticket. */
  @Column('boolean', { default: false })
  forBrowser: boolean;

  /** The session to step up; null for a new session. */
  @Column('uuid', { nullable: true })
  sessionId: string | null;

  @Column('text')
  status: 'STARTED' | 'TESTING' | 'TAKEN' | 'ARRIVED' | 'TESTED';

  /** ID of the person, set when the status becomes ARRIVED; for a test, ID of the person who started the test. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  /** SHA-256 of the ticket that the browser exchanges for tokens. */
  @Index('sso_transaction_ticket', { unique: true })
  @Column('bytea', { nullable: true })
  ticketHash: Buffer | null;

  @Column('timestamptz')
  expiresAt: Date;
}

/**
 * A record of a logout: `sent` for a message that is waiting for its response, `taken` for a received message, which must not be replayed, and `ended` for the
 * end of sessions, after which sign-ins that began earlier are rejected.
 */
@Entity('saml_message')
@Index('saml_message_expires', ['expiresAt'])
export class SamlMessageMark {
  @PrimaryColumn('uuid')
  providerId: string;

  @PrimaryColumn('text')
  direction: 'sent' | 'taken' | 'ended';

  /** SHA-256 of the message's ID, or of the provider's ID for the person or session. */
  @PrimaryColumn('bytea')
  idHash: Buffer;

  @Column('timestamptz')
  expiresAt: Date;
}
