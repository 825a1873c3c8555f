import { ApiProperty } from '@nestjs/swagger';
import { Flag, JsonObject, ListOf, Name, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { Problem } from '../../platform/errors/problem.js';
import { MAX_KEY_SET_BYTES, thumbprintsOf } from '../credentials/key-sets/key-set.js';
import type { CertificateRegistration } from '../credentials/certificates/certificate-rule.js';
import {
  ClientCertificateMembers,
  ClientCertificatesView,
  certificateOrderOf,
  certificatesViewOf,
} from '../credentials/certificates/client-certificates.dto.js';
import type { ClientKeySource } from './client-keys.js';
import { Nullable } from '../../platform/http/body-shape.js';
import { KeyPatternList } from '../../access/key-patterns.js';
import { PERSON_SCOPES, SCOPE_NAMES, type Scope } from '../../access/scopes.js';
import { versionOf } from '../model/credential-change.js';
import { isCertificateMethod, type OAuthClient } from '../model/oauth.entity.js';
import type { OAuthClientChange } from './oauth-client-changes.service.js';
import type { OAuthClientOrder, OAuthClientType } from './oauth-clients.service.js';

const TYPES = ['confidential', 'public'] as const;
const AUTH_METHODS = [
  'client_secret_basic',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
  'none',
] as const;
type AuthMethod = (typeof AUTH_METHODS)[number];
/** The public key of RFC 7517 appendix A.1. */
const EXAMPLE_KEYS = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
      y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
    },
  ],
};

/** Keys of a client. Exactly one of `jwks` and `jwks_uri` is required (RFC 7591 section 2). */
export class OAuthClientKeysBody {
  /** A JWK Set of public keys with which the client authenticates (`private_key_jwt`). */
  @Optional(JsonObject(MAX_KEY_SET_BYTES, { example: EXAMPLE_KEYS })) jwks?: Record<string, unknown>;
  /** URL at which the client publishes its JWK Set. @example https://client.example.com/jwks.json */
  @Optional(Text(1, 500)) jwks_uri?: string;

  requireKeySource(): ClientKeySource {
    const source = keySourceOf(this);
    if (source === undefined) throw oneKeySource('specify the keys with jwks or jwks_uri');
    return source;
  }
}

/** Returns the source of the client's keys; undefined if neither member is present. */
function keySourceOf({ jwks, jwks_uri: jwksUri }: Pick<OAuthClientKeysBody, 'jwks' | 'jwks_uri'>) {
  if (jwks !== undefined && jwksUri !== undefined) throw oneKeySource('cannot be combined with jwks_uri');
  if (jwksUri !== undefined) return { jwksUri };
  return jwks === undefined ? undefined : { jwks };
}

function oneKeySource(detail: string): Problem {
  return new Problem('refused', 'oauth-client.keys', `/jwks: ${detail}.`, { errors: [{ pointer: '/jwks', detail }] });
}

function otherMethod(detail: string): Problem {
  const errors = [{ pointer: '/token_endpoint_auth_method', detail }];
  return new Problem('refused', 'oauth-client.auth-method', `/token_endpoint_auth_method: ${detail}.`, { errors });
}

/** Keys or certificates with which a client authenticates instead of a secret, as received. */
export interface ProofSource {
  readonly keys?: ClientKeySource;
  readonly certificates?: CertificateRegistration;
}

/** A ProofSource that has been parsed and validated. */
export type ReadProof = Pick<OAuthClientOrder, 'keys' | 'certificates'>;

export class CreateOAuthClientBody extends ClientCertificateMembers {
  /** @example 'deployment pipeline' */
  @Name(1, 100) name: string;
  /** Maximum scopes of the client's tokens. You can grant only scopes that you have. */
  @ListOf(OneOf(SCOPE_NAMES), { min: 1, max: 64, unique: true, example: ['sign:digest', 'sign:read'] })
  permissions: Scope[];
  /**
   * Names of the signing keys that the client's tokens can use. `*` matches any characters. If omitted, the tokens can use every signing key that you can use,
   * including keys created later.
   */
  @Optional(KeyPatternList({ min: 1, example: ['release-*'] })) signingKeys?: string[];
  /** A public client, such as a command-line tool, has no secret, keys or certificates, and acts only for users (device flow). */
  @Optional(OneOf(TYPES, { default: 'confidential' })) type?: OAuthClientType;
  /**
   * Authentication method. The default depends on the other members: `tls_client_auth` with trust anchors, `self_signed_tls_client_auth` with `certificates`,
   * `private_key_jwt` with keys, `none` for a public client, and `client_secret_basic` otherwise. Required if `jwks` contains certificates
   * (`self_signed_tls_client_auth`).
   */
  @Optional(OneOf(AUTH_METHODS, { example: 'tls_client_auth' })) token_endpoint_auth_method?: AuthMethod;
  /**
   * A JWK Set of public keys with which the client authenticates (`private_key_jwt`), or of the client's certificates in `x5c` (`self_signed_tls_client_auth`).
   */
  @Optional(JsonObject(MAX_KEY_SET_BYTES, { example: EXAMPLE_KEYS })) jwks?: Record<string, unknown>;
  /** URL at which the client publishes its JWK Set (`private_key_jwt`). @example https://client.example.com/jwks.json */
  @Optional(Text(1, 500)) jwks_uri?: string;
  /** Whether tokens are issued only with a DPoP proof and are bound to the proof's key (RFC 9449 section 5.2). */
  @Optional(Flag()) dpop_bound_access_tokens?: boolean = false;
  /**
   * Whether tokens are issued only if the client presents a certificate, and are bound to that certificate (RFC 8705 section 3.4). Defaults to true for clients
   * that authenticate with a certificate.
   */
  @Optional(Flag()) tls_client_certificate_bound_access_tokens?: boolean;

  /** @throws Problem `oauth-client.auth-method`, `oauth-client.keys` if the members of the body contradict each other */
  proofSource(): ProofSource {
    const method = this.method();
    if (isCertificateMethod(method)) {
      if (this.jwks_uri !== undefined)
        throw oneKeySource('certificates cannot be registered with jwks_uri; send them in certificates or jwks');
      return { certificates: certificateOrderOf(this) };
    }
    const keys = keySourceOf(this);
    return keys === undefined ? {} : { keys };
  }

  /** @param proof the parsed `proofSource` */
  toOrder(proof: ReadProof): OAuthClientOrder {
    const { name, permissions, signingKeys, dpop_bound_access_tokens: dpopBound = false } = this;
    const method = this.method();
    const bound = this.tls_client_certificate_bound_access_tokens ?? isCertificateMethod(method);
    const type = method === 'none' ? 'public' : 'confidential';
    return { name, permissions, signingKeys, type, dpopBound, certificateBound: bound, ...proof };
  }

  private method(): AuthMethod {
    const { type, token_endpoint_auth_method: named } = this;
    const method = this.impliedMethod();
    if (type === 'public' && method !== 'none') throw oneKeySource('a public client cannot have keys or certificates');
    if (named !== undefined && named !== method)
      throw otherMethod(`must be ${method} to match the other members, not ${named}`);
    return method;
  }

  private impliedMethod(): AuthMethod {
    const { certificates, jwks, trustAnchors, intermediates, subjects } = certificateOrderOf(this);
    const isIssued = [trustAnchors, intermediates, ...Object.values(subjects)].some((one) => one !== undefined);
    if (isIssued) return 'tls_client_auth';
    const isOfKeys = this.token_endpoint_auth_method !== 'self_signed_tls_client_auth';
    if (certificates !== undefined || (jwks !== undefined && !isOfKeys)) return 'self_signed_tls_client_auth';
    if (jwks !== undefined || this.jwks_uri !== undefined) return 'private_key_jwt';
    return this.type === 'public' ? 'none' : 'client_secret_basic';
  }
}

export class ChangeOAuthClientBody {
  /** Name of the client. @example 'deployment pipeline' */
  @Optional(Name(1, 100)) name?: string;
  /** The permissions to keep. A change can only remove permissions. */
  @Optional(ListOf(OneOf(SCOPE_NAMES), { min: 1, max: 64, unique: true, example: ['sign:digest'] }))
  permissions?: Scope[];
  /** Names of the signing keys that the client's tokens can use. `*` matches any characters; null allows every signing key. */
  @Optional(KeyPatternList({ min: 1, nullable: true, example: ['release-*'] }))
  @Nullable()
  signingKeys?: string[] | null;

  toChange(): OAuthClientChange {
    const { name, permissions, signingKeys } = this;
    return { name, permissions, signingKeys };
  }
}

export class OAuthClientView extends ClientCertificatesView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id: string;
  /** @example 'deployment pipeline' */
  name: string;
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true }) permissions: Scope[];
  /** Names of the signing keys that the client's tokens can use, in which `*` matches any characters; null allows every signing key. */
  @ApiProperty({ type: [String], nullable: true, example: ['release-*'] }) signingKeys: string[] | null;
  /**
   * Permissions that have no effect in tokens that the client requests for itself, because only people can use these permissions. Only clients created by an
   * earlier version can have such permissions.
   */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true, example: [] }) withoutEffect: Scope[];
  type: OAuthClientType;
  /** `client_secret_basic` also allows the secret in the request body. */
  token_endpoint_auth_method: AuthMethod;
  /**
   * Thumbprints of the client's keys (RFC 7638, SHA-256); empty for a client without keys.
   * @example ["NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"]
   */
  keys: string[];
  /** URL at which the client publishes its keys; null if the keys were uploaded. @example https://client.example.com/jwks.json */
  jwks_uri: string | null;
  /** Whether tokens are issued only with a DPoP proof. */
  dpop_bound_access_tokens: boolean;
  /** Whether tokens are issued only if the client presents a certificate. */
  tls_client_certificate_bound_access_tokens: boolean;
  /** Incremented on every change of the name, the permissions or the signing keys. The ETag for `If-Match` is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;
  revokedAt: Date | null;

  static of(row: OAuthClient): OAuthClientView {
    const { id, name, permissions, signingKeys, secretHash, authMethod, jwksUri, createdAt, revokedAt } = row;
    const type: OAuthClientType = secretHash === null ? 'public' : 'confidential';
    const method: AuthMethod = authMethod ?? (type === 'public' ? 'none' : 'client_secret_basic');
    const certificates = certificatesViewOf(isCertificateMethod(authMethod) ? row.certificateRule : null);
    const proof = { token_endpoint_auth_method: method, keys: thumbprintsOf(row.keys ?? []), jwks_uri: jwksUri };
    const demand = {
      dpop_bound_access_tokens: row.dpopBound,
      tls_client_certificate_bound_access_tokens: row.certificateBound,
    };
    const withoutEffect = type === 'public' ? [] : permissions.filter((scope) => PERSON_SCOPES.includes(scope));
    const granted = { permissions, signingKeys, withoutEffect };
    const state = { version: versionOf(row), createdAt, revokedAt };
    return { client_id: id, name, ...granted, type, ...proof, ...certificates, ...demand, ...state };
  }
}

export class NewOAuthClientView extends OAuthClientView {
  /**
   * The client secret, which cannot be retrieved again. Absent for public clients, and for clients with keys or certificates.
   * @example sw_client_0a1b
   */
  client_secret?: string;

  static withSecret(row: OAuthClient, secret: string | undefined): NewOAuthClientView {
    return Object.assign(OAuthClientView.of(row), secret === undefined ? {} : { client_secret: secret });
  }
}

export class OAuthClientPage extends PageOf(OAuthClientView) {}
