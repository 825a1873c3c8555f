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

  /** SHA-256 of `state` in OIDC, or of the ID of the AuthnRequest in SAML. */
  @Index('sso_transaction_key', { unique: true })
  @Column('bytea')
  keyHash: Buffer;

  /** SHA-256 of the cookie of the browser that started the attempt. */
  @Column('bytea')
  browserHash: Buffer;

  /** Nonce and PKCE verifier, sealed. */
  @Column('bytea')
  secrets: Buffer;

  /** Path on this site to return to. */
  @Column('text')
  returnTo: string;

  /** Whether the browser gets a session in a cookie instead of a ticket. */
  @Column('boolean', { default: false })
  forBrowser: boolean;

  /** The session to step up; null for a new session. */
  @Column('uuid', { nullable: true })
  sessionId: string | null;

  @Column('text')
  status: 'STARTED' | 'TESTING' | 'TAKEN' | 'ARRIVED' | 'TESTED';

  /** The person, once ARRIVED; for a test, the person who started it. */
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
 * A logout message that was sent and is waiting for its response, or was received and must not be replayed; or the end of sessions, which also stops
 * sign-ins that began earlier.
 */
@Entity('saml_message')
@Index('saml_message_expires', ['expiresAt'])
export class SamlMessageMark {
  @PrimaryColumn('uuid')
  providerId: string;

  @PrimaryColumn('text')
  direction: 'sent' | 'taken' | 'ended';

  /** SHA-256 of the ID of the message, or of the person or session at the provider. */
  @PrimaryColumn('bytea')
  idHash: Buffer;

  @Column('timestamptz')
  expiresAt: Date;
}
