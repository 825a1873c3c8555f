import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, PrimaryColumn, Check, Index } from 'typeorm';
import type { Scope } from '../../access/scopes.js';
import type { CertificateMethod, CertificateRule } from '../credentials/certificates/certificate-rule.js';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';

/** A method by which a client authenticates with a key (OpenID Connect Core section 9, RFC 8705 section 2). */
export type KeyAuthMethod = 'private_key_jwt' | CertificateMethod;

export function isCertificateMethod(method: string | null): method is CertificateMethod {
  return method === 'tls_client_auth' || method === 'self_signed_tls_client_auth';
}

/** OAuthClient is a program that requests tokens at /oauth/token. The ID of the row is the client_id. */
@Entity('oauth_client')
@Check(
  'oauth_client_keys',
  `(auth_method IS NOT NULL) = (keys IS NOT NULL OR certificate_rule IS NOT NULL) AND (jwks_uri IS NULL OR keys IS NOT NULL)`,
)
@Sealed<OAuthClient>({
  except: ['keysAskedAt', 'createdAt'],
  edits: ['proofSince', 'revision'],
  while: 't.revoked_at IS NULL',
})
export class OAuthClient extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** Maximum scopes of the client's tokens. */
  @Column('text', { array: true })
  permissions: Scope[];

  /** Names and patterns of the signing keys that the client's tokens can use; null allows every key. Null in rows written by earlier versions. */
  @Column('text', { array: true, nullable: true })
  signingKeys: string[] | null;

  /**
   * Version, which each edit increments and which is used as the ETag. Null, which counts as 1, until the first edit, so that processes of the previous version
   * accept the row.
   */
  @Column('int', { nullable: true })
  revision: number | null;

  /**
   * SHA-256 of the secret. Null for a public client, which cannot keep a secret and acts only for users (RFC 6749 section 2.1). For a client with keys, the
   * hash of a random value that was discarded.
   */
  @Column('bytea', { nullable: true })
  secretHash: Buffer | null;

  /** How a client with keys authenticates; null if the client uses a secret or does not authenticate. */
  @Column('text', { nullable: true })
  authMethod: KeyAuthMethod | null;

  /** The public keys, as registered or last fetched. */
  @Column('jsonb', { nullable: true })
  keys: PublicJwk[] | null;

  /** JWKS URL of the client; null if its keys were registered. */
  @Column('text', { nullable: true })
  jwksUri: string | null;

  /** Time at which the keys were registered or last fetched. */
  @Column('timestamptz', { nullable: true })
  keysReadAt: Date | null;

  /** Time of the last attempt to fetch the keys, successful or not. */
  @Column('timestamptz', { nullable: true })
  keysAskedAt: Date | null;

  /** The certificates with which the client authenticates; null if the client uses another method. */
  @Column('jsonb', { nullable: true })
  certificateRule: CertificateRule | null;

  /**
   * Time at which the secret, keys or certificates were last replaced. Sessions that began before this time are rejected, because the client credential with
   * which they were opened was replaced.
   */
  @Column('timestamptz', { name: 'certificates_since', nullable: true })
  proofSince: Date | null;

  /** Whether the client's tokens must be bound with DPoP (RFC 9449 section 5.2). */
  @Column('boolean', { default: false })
  dpopBound: boolean;

  /** Whether the client's tokens must be bound to a client certificate (RFC 8705 section 3.4). */
  @Column('boolean', { default: false })
  certificateBound: boolean;

  /** ID of the person who created the client. */
  @Column('text')
  ownerId: string;

  /** ID of the user to whom the current secret was shown, if not the owner. The client is limited to the rights of this user as well. */
  @Column('text', { nullable: true })
  issuedTo: string | null;

  /**
   * Sorted IDs of the other users who could have made the call that created the secret. The client is limited to the rights of these users as well. Null if
   * there are no such users.
   */
  @Column('text', { array: true, nullable: true })
  behind: string[] | null;

  /** Sorted IDs of all users to whom the secret was ever shown. Null in rows written by earlier versions. */
  @Column('text', { array: true, nullable: true })
  disclosedTo: string[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;
}

/** Reports whether a session of a client may continue: the client is not revoked, and its credential was not replaced after the session began. */
export function admitsSession(
  { revokedAt, proofSince }: OAuthClient,
  { createdAt }: { readonly createdAt: Date },
): boolean {
  return revokedAt === null && (proofSince === null || createdAt >= proofSince);
}

export type DeviceAuthorizationStatus = 'PENDING' | 'APPROVED' | 'DENIED' | 'REDEEMED';

/** DeviceAuthorization is a device's request for a person's consent (RFC 8628). PENDING → APPROVED or DENIED; APPROVED → REDEEMED, once. */
@Entity('device_authorization')
@Check('device_authorization_person', `status IN ('PENDING', 'DENIED') OR user_id IS NOT NULL`)
@Index('device_authorization_expires', ['expiresAt'])
@Index('device_authorization_user', ['userId'], { where: 'user_id IS NOT NULL' })
@Sealed<DeviceAuthorization>({
  // sessionId is not sealed, because earlier versions do not have the column. Clearing the column directly in the database keeps a code valid for at most five
  // minutes.
  except: ['pollSeconds', 'polledAt', 'createdAt', 'sessionId'],
  while: `t.status IN ('PENDING', 'APPROVED') AND t.expires_at > now()`,
})
export class DeviceAuthorization extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  clientId: string;

  /** SHA-256 of the device code. */
  @Index('device_authorization_device_code', { unique: true })
  @Column('bytea')
  deviceCodeHash: Buffer;

  /** The code that the person types, without the hyphen. */
  @Index('device_authorization_user_code', { unique: true })
  @Column('text')
  userCode: string;

  /** The requested scopes; after the approval, the granted scopes. */
  @Column('text', { array: true })
  scopes: Scope[];

  @Column('text')
  status: DeviceAuthorizationStatus;

  @Column('uuid', { nullable: true })
  userId: string | null;

  /** The session in which the person approved the device. Unless the person signs out, ending that session invalidates the code. */
  @Column('uuid', { nullable: true })
  sessionId: string | null;

  /** Time at which the approving user last authenticated. Approving the device does not count as authentication. */
  @Column('timestamptz', { nullable: true })
  authenticatedAt: Date | null;

  /** ID of the identity provider of the person's session. A logout at the provider ends the device's session as well. */
  @Column('uuid', { nullable: true })
  providerId: string | null;

  @Column('text', { nullable: true })
  externalSession: string | null;

  /** Time at which the identity provider ends the session in which the person approved the device. The device's session ends no later than this time. */
  @Column('timestamptz', { nullable: true })
  providerEnd: Date | null;

  /** Minimum number of seconds between two polls. */
  @Column('int')
  pollSeconds: number;

  @Column('timestamptz', { nullable: true })
  polledAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}
