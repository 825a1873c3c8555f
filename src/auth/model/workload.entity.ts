import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Claims, ClaimCondition } from '../../access/identity/verified-identity.js';
import type { Scope } from '../../access/scopes.js';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';

/** Source of an issuer's keys: the issuer's discovery document, or an upload if the service cannot reach the issuer. */
export type KeySource = 'discovery' | 'uploaded';

/** An issuer of identity tokens for workloads, such as a build system or a cluster. */
@Entity('workload_issuer')
@Sealed<WorkloadIssuer>({
  except: ['keysAskedAt', 'createdAt', 'updatedAt'],
  edits: 'revision',
})
export class WorkloadIssuer extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** The exact `iss` claim of the issuer's tokens. */
  @Index('workload_issuer_issuer', { unique: true })
  @Column('text')
  issuer: string;

  @Column('text')
  keySource: KeySource;

  /** Public signing keys as last fetched or uploaded. Null before the first fetch. */
  @Column('jsonb', { nullable: true })
  keys: PublicJwk[] | null;

  /** Time at which usable keys were last fetched or uploaded. */
  @Column('timestamptz', { nullable: true })
  keysReadAt: Date | null;

  /** Time of the last attempt to fetch the keys, successful or not. */
  @Column('timestamptz', { nullable: true })
  keysAskedAt: Date | null;

  /**
   * ID of the person who uploaded the current keys, and can therefore create tokens of the issuer. Null for fetched keys, and in rows written by earlier
   * versions.
   */
  @Column('text', { nullable: true })
  uploaderId: string | null;

  /** Sorted IDs of the other users who could have made the call that uploaded the current keys. Null if there are no such users. */
  @Column('text', { array: true, nullable: true })
  behind: string[] | null;

  /** Sorted IDs of all users who uploaded keys, created or changed the issuer, or could have done so. Null in rows written by earlier versions. */
  @Column('text', { array: true, nullable: true })
  disclosedTo: string[] | null;

  @Column('boolean', { default: true })
  enabled: boolean;

  /**
   * Time at which the issuer was last disabled. Tokens issued before this time are refused, even after the issuer is enabled again. Null if the issuer was
   * never disabled, and in rows written by earlier versions.
   */
  @Column('timestamptz', { nullable: true })
  disabledAt: Date | null;

  /** Incremented by each edit; the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}

/** WorkloadTrust defines which tokens of an issuer are accepted, and the scopes and keys that the tokens grant. */
@Entity('workload_trust')
@Index('workload_trust_issuer', ['issuerId', 'audience'])
@Check('workload_trust_life', 'life_seconds BETWEEN 60 AND 900')
@Sealed<WorkloadTrust>({
  except: ['createdAt', 'updatedAt'],
  edits: 'revision',
})
export class WorkloadTrust extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Index('workload_trust_name', { unique: true })
  @Column('text')
  name: string;

  @Column('uuid')
  issuerId: string;

  /** The `aud` claim of the tokens. */
  @Column('text')
  audience: string;

  /** Conditions that must all be met. */
  @Column('jsonb')
  conditions: ClaimCondition[];

  /** Whether runs for pull and merge requests, whose code has not been reviewed yet, are accepted. */
  @Column('boolean', { default: false })
  pullRequests: boolean;

  @Column('text', { array: true })
  scopes: Scope[];

  /** Names and patterns of the signing keys that the tokens can use. */
  @Column('text', { array: true })
  keys: string[];

  /** Lifetime of the access tokens, in seconds. */
  @Column('int', { default: 900 })
  lifeSeconds: number;

  /** Whether the access tokens must be bound with DPoP (RFC 9449). */
  @Column('boolean', { default: false })
  dpopBound: boolean;

  /** Whether the access tokens must be bound to a client certificate (RFC 8705). */
  @Column('boolean', { default: false })
  certificateBound: boolean;

  @Column('boolean', { default: true })
  enabled: boolean;

  /** ID of the user who last changed the trust. The tokens are limited to the current rights of this user. */
  @Column('uuid')
  ownerId: string;

  /**
   * Sorted IDs of the other users who could have made the last change to the trust. The tokens are limited to the rights of these users as well. Null if there
   * are no such users.
   */
  @Column('text', { array: true, nullable: true })
  behind: string[] | null;

  /**
   * Sorted IDs of all users who changed the trust, or could have done so. These users count as requesters of all requests made by runs of the trust. Null in
   * rows written by earlier versions.
   */
  @Column('text', { array: true, nullable: true })
  changedBy: string[] | null;

  /** Version, which each edit increments and which is used as the ETag. A token is valid only for the revision under which it was issued. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}

/** WorkloadTokenUse records a token that has been exchanged, so that the token is not accepted again. */
@Entity('workload_token_use')
@Index('workload_token_use_expires', ['expiresAt'])
export class WorkloadTokenUse {
  @PrimaryColumn('uuid')
  issuerId: string;

  /** SHA-256 of `jti`, or of the signed content for a token without `jti`. */
  @PrimaryColumn('bytea')
  hash: Buffer;

  /** Time from which the token is rejected as expired. */
  @Column('timestamptz')
  expiresAt: Date;
}

/** The identity of a run: the verified claims of the run's token, and the evidence for the claims. The ID is also the ID of the session. */
@Entity('workload_identity')
@Sealed<WorkloadIdentity>({
  // The HSM encrypts the token and binds it to its row.
  except: ['token', 'createdAt'],
  while: 'EXISTS (SELECT 1 FROM auth_session s WHERE s.id = t.id AND s.ended_at IS NULL AND s.expires_at > now())',
})
export class WorkloadIdentity extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  trustId: string;

  @Column('text')
  trustName: string;

  @Column('jsonb')
  claims: Claims;

  /** The token as signed by the issuer, sealed: see SEALED_WORKLOAD_TOKEN. */
  @Column('bytea')
  token: Buffer;

  @Column('timestamptz')
  tokenExpiresAt: Date;

  /** SHA-256 of the token's header and payload, base64. */
  @Column('text')
  tokenSha256: string;

  /** The issuer's key that verified the token, as published at that time. */
  @Column('jsonb')
  key: PublicJwk;

  /** RFC 7638 thumbprint (SHA-256) of the key, base64url. */
  @Column('text')
  keyThumbprint: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
