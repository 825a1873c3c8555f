import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsBoolean,
  IsIn,
  IsObject,
  IsOptional,
  IsString,
  Length,
} from 'class-validator';
import { Problem } from '../../platform/errors/problem.js';
import type { Page } from '../../platform/http/cursors.js';
import { JsonAtMost } from '../../platform/http/field-rules.js';
import { thumbprintsOf } from '../key-sets/key-set.js';
import type { ClientKeySource, RegisteredKeys } from './client-keys.js';
import { SCOPE_NAMES, type Scope } from '../../access/scopes.js';
import type { OAuthClient } from './oauth.entity.js';
import type { OAuthClientOrder, OAuthClientType } from './oauth-clients.service.js';

const TYPES = ['confidential', 'public'] as const;
const AUTH_METHODS = ['client_secret_basic', 'private_key_jwt', 'none'] as const;
const MAX_KEY_SET_BYTES = 64 * 1024;
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

/** One of the two (RFC 7591 section 2). */
export class OAuthClientKeysBody {
  /** A JWK Set of public keys by which the client authenticates (`private_key_jwt`). */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: EXAMPLE_KEYS })
  @IsOptional()
  @IsObject()
  @JsonAtMost(MAX_KEY_SET_BYTES)
  jwks?: Record<string, unknown>;

  /** The address at which the client publishes its JWK Set. @example https://client.example.com/jwks.json */
  @IsOptional()
  @IsString()
  @Length(1, 500)
  jwks_uri?: string;

  /** Undefined if the body has neither. */
  keySource(): ClientKeySource | undefined {
    const { jwks, jwks_uri: jwksUri } = this;
    if (jwks !== undefined && jwksUri !== undefined) throw oneKeySource('name one of jwks and jwks_uri');
    if (jwksUri !== undefined) return { jwksUri };
    return jwks === undefined ? undefined : { jwks };
  }

  requireKeySource(): ClientKeySource {
    const source = this.keySource();
    if (source === undefined) throw oneKeySource('give the keys by jwks or jwks_uri');
    return source;
  }
}

function oneKeySource(detail: string): Problem {
  return new Problem('refused', 'oauth-client.keys', `${detail}.`, { errors: [{ pointer: '/jwks', detail }] });
}

export class CreateOAuthClientBody extends OAuthClientKeysBody {
  /** @example 'deployment pipeline' */
  @IsString()
  @Length(1, 100)
  name: string;

  /** The most that its tokens are good for; you can grant only what you hold. */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true, example: ['sign:digest', 'sign:read'] })
  @IsIn(SCOPE_NAMES, { each: true })
  @ArrayMinSize(1)
  @ArrayMaxSize(64)
  @ArrayUnique()
  permissions: Scope[];

  /** A public client, such as a command line, has no secret and no keys, and only acts for people (device flow). */
  @ApiProperty({ enum: TYPES, default: 'confidential' })
  @IsOptional()
  @IsIn(TYPES)
  type?: OAuthClientType;

  /** true: its tokens are given with a DPoP proof alone, and bound to the key of that (RFC 9449 section 5.2). */
  @IsOptional()
  @IsBoolean()
  dpop_bound_access_tokens?: boolean = false;

  /** true: its tokens are given to who shows a client certificate alone, and bound to that (RFC 8705 section 3.4). */
  @IsOptional()
  @IsBoolean()
  tls_client_certificate_bound_access_tokens?: boolean = false;

  /** @param keys those of `keySource` */
  toOrder(keys: RegisteredKeys | undefined): OAuthClientOrder {
    const { name, permissions, type = 'confidential' } = this;
    const dpopBound = this.dpop_bound_access_tokens ?? false;
    const certificateBound = this.tls_client_certificate_bound_access_tokens ?? false;
    if (keys !== undefined && type === 'public') throw oneKeySource('a public client has no keys');
    return { name, permissions, type, dpopBound, certificateBound, ...(keys === undefined ? {} : { keys }) };
  }
}

export class OAuthClientView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id: string;
  /** @example 'deployment pipeline' */
  name: string;
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true })
  permissions: Scope[];
  @ApiProperty({ enum: TYPES })
  type: OAuthClientType;
  /** `client_secret_basic` stands for the secret in the body as well. */
  @ApiProperty({ enum: AUTH_METHODS })
  token_endpoint_auth_method: (typeof AUTH_METHODS)[number];
  /** Thumbprints of its keys (RFC 7638, SHA-256); empty for a client without. @example ["NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"] */
  keys: string[];
  /** Where it publishes them; null: they were registered, or there are none. @example https://client.example.com/jwks.json */
  jwks_uri: string | null;
  /** Whether its tokens are given with a DPoP proof alone. */
  dpop_bound_access_tokens: boolean;
  /** Whether they are given to who shows a client certificate alone. */
  tls_client_certificate_bound_access_tokens: boolean;
  createdAt: Date;
  revokedAt: Date | null;

  static of(row: OAuthClient): OAuthClientView {
    const { id, name, permissions, secretHash, authMethod, jwksUri, createdAt, revokedAt } = row;
    const type: OAuthClientType = secretHash === null ? 'public' : 'confidential';
    const method: OAuthClientView['token_endpoint_auth_method'] =
      authMethod ?? (type === 'public' ? 'none' : 'client_secret_basic');
    const proof = { token_endpoint_auth_method: method, keys: thumbprintsOf(row.keys ?? []), jwks_uri: jwksUri };
    const demand = {
      dpop_bound_access_tokens: row.dpopBound,
      tls_client_certificate_bound_access_tokens: row.certificateBound,
    };
    return { client_id: id, name, permissions, type, ...proof, ...demand, createdAt, revokedAt };
  }
}

export class NewOAuthClientView extends OAuthClientView {
  /** Shown this once; store it now. Absent for public clients and those with keys. @example sw_client_0a1b */
  client_secret?: string;

  static withSecret(row: OAuthClient, secret: string | undefined): NewOAuthClientView {
    return Object.assign(OAuthClientView.of(row), secret === undefined ? {} : { client_secret: secret });
  }
}

export class OAuthClientPage {
  items: OAuthClientView[];
  /** null on the last page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(page: Page<OAuthClient>): OAuthClientPage {
    return { items: page.items.map((row) => OAuthClientView.of(row)), nextCursor: page.nextCursor };
  }
}
