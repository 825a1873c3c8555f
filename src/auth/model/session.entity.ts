import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { TokenBinding } from '../../access/caller.js';
import type { Scope } from '../../access/scopes.js';

/** How a person or client signed in. */
export type SignInWay = 'password' | 'registration' | 'device' | 'client-credentials' | 'oidc' | 'saml' | 'workload';

/**
 * A person's sign-in, an OAuth client's token, or a workload's run. Every access token contains the ID of its session, so ending the session revokes the token.
 * The refresh tokens of a session form one family.
 */
@Entity('auth_session')
@Index('auth_session_ended', ['endedAt'], { where: 'ended_at IS NOT NULL' })
@Check('auth_session_subject', `user_id IS NOT NULL OR client_id IS NOT NULL OR trust_id IS NOT NULL`)
@Index('auth_session_user', ['userId', 'id'])
@Index('auth_session_client', ['clientId', 'id'])
@Index('auth_session_expires', ['expiresAt'])
@Index('auth_session_external', ['providerId', 'externalSession'], { where: 'provider_id IS NOT NULL' })
@Sealed<Session>({
  // The logout hint is encrypted and bound to its row. A change to the time of the last use can only end or prolong an idle browser session.
  except: ['logoutHint', 'lastUsedAt', 'lastUsedFrom'],
  while: 't.ended_at IS NULL AND t.expires_at > now()',
})
export class Session extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Null for a token of an OAuth client acting on its own behalf. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  /** ID of the OAuth client to which the tokens were issued; null for a sign-in to the service itself. */
  @Column('uuid', { nullable: true })
  clientId: string | null;

  /** ID of the trust through which the token was issued to a workload. */
  @Column('uuid', { nullable: true })
  trustId: string | null;

  @Column('int', { nullable: true })
  trustRevision: number | null;

  @Column('text')
  way: SignInWay;

  /** ID of the identity provider through which the person signed in. */
  @Column('uuid', { nullable: true })
  providerId: string | null;

  /** The provider's ID for the session: `sid` in OIDC, SessionIndex in SAML. */
  @Column('text', { nullable: true })
  externalSession: string | null;

  /** Hint for signing the person out at the provider as well, sealed: the ID token in OIDC, the NameID as JSON in SAML. */
  @Column('bytea', { name: 'id_token', nullable: true })
  logoutHint: Buffer | null;

  /** Scopes of the tokens; if null, the tokens have all scopes of the person. */
  @Column('text', { array: true, nullable: true })
  scopes: Scope[] | null;

  /** SHA-256 of the secret in the browser's cookie; null for sessions with tokens. */
  @Column('bytea', { nullable: true })
  cookieHash: Buffer | null;

  /** Thumbprint (RFC 7638) of the DPoP key to which the tokens are bound; null if the tokens are not bound to a DPoP key. */
  @Column('text', { nullable: true })
  dpopKey: string | null;

  /** SHA-256 of the client certificate to which the tokens are bound, base64url; null if the tokens are not bound to a certificate. */
  @Column('text', { nullable: true })
  clientCertificate: string | null;

  /** Authentication methods (RFC 8176): pwd, otp, hwk, mfa. */
  @Column('text', { array: true, default: '{}' })
  methods: string[];

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** Time at which the person last presented a password or a second factor. */
  @Column('timestamptz', { default: () => 'now()' })
  authenticatedAt: Date;

  /** Time of the last step-up in this session. */
  @Column('timestamptz', { nullable: true })
  steppedUpAt: Date | null;

  /** Absolute expiry of the session, which refreshing does not extend. */
  @Column('timestamptz')
  expiresAt: Date;

  /**
   * Time at which the identity provider ends the session; null if the provider did not report the time. Tokens granted in the session end no later than this
   * time.
   */
  @Column('timestamptz', { nullable: true })
  providerEnd: Date | null;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  /**
   * Reason for the end, such as `signed-out`, `ended`, `refresh-token-reused`, `refresh-token-misused`, `password-changed`, `user-disabled`,
   * `too-many-sessions`.
   */
  @Column('text', { nullable: true })
  endedBecause: string | null;

  @Column('text')
  address: string;

  /** User-Agent of the sign-in, truncated to 200 characters. */
  @Column('text')
  agent: string;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;

  @Column('text', { nullable: true })
  lastUsedFrom: string | null;
}

/** Returns the keys to which the tokens of a session are bound. */
export function bindingOf({
  dpopKey,
  clientCertificate,
}: Pick<Session, 'dpopKey' | 'clientCertificate'>): TokenBinding {
  return {
    ...(dpopKey === null ? {} : { dpopKey }),
    ...(clientCertificate === null ? {} : { certificate: clientCertificate }),
  };
}

/** RefreshToken is a refresh token of a session. Each token replaces the previous token. A second use of a token indicates theft. */
@Entity('refresh_token')
@Index('refresh_token_session', ['sessionId'])
@Sealed<RefreshToken>({
  except: ['createdAt'],
  while: 't.used_at IS NULL AND t.expires_at > now()',
})
export class RefreshToken extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  sessionId: string;

  /** SHA-256 of the token. */
  @Index('refresh_token_hash', { unique: true })
  @Column('bytea')
  hash: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}
