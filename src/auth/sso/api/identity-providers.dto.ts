import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsOptional,
  IsString,
  IsUrl,
  Length,
  Matches,
} from 'class-validator';
import { Flag, ListOf, Nested, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { ROLE_NAMES, type RoleName } from '../../../access/scopes.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Nullable } from '../../../platform/http/body-shape.js';
import {
  CLIENT_AUTHENTICATIONS,
  type ClientAuthenticationMethod,
  type IdentityProvider,
  type OidcRedirect,
  type OidcSettings,
  type SamlSettings,
} from '../../model/identity-provider.entity.js';
import type { IdentityProviderOrder } from '../providers/identity-provider-changes.service.js';
import { storedCertificates } from '../providers/saml-certificates.js';

/** A URI (RFC 3986) in an XML attribute. */
const URI = /^[a-z][a-z0-9+.-]{0,20}:[!#-;=?-~]{1,300}$/i;
const COMPARISONS = ['exact', 'minimum', 'maximum', 'better'] as const;
const LOCAL = { require_tld: false, require_protocol: true, protocols: ['http', 'https'] };

export class ClaimRuleBody {
  /** @example groups */
  @Text(1, 200) claim: string;
  @OneOf(['equals', 'prefix']) op: 'equals' | 'prefix';
  /** @example release-managers */
  @Text(1, 200) value: string;
  @ListOf(OneOf(ROLE_NAMES), { min: 1, max: ROLE_NAMES.length }) roles: RoleName[];
}

class IdentityProviderBody {
  /** Label of the sign-in button. @example 'Sign in with Example' */
  @Text(1, 60) label: string;
  @Flag() enabled: boolean;
  /** Rules that map claims or attributes to roles at every sign-in. All matching rules apply. */
  @ListOf(ClaimRuleBody, { max: 100 }) rules: ClaimRuleBody[];
  /** Roles assigned when no rule matches. If null or omitted, a sign-in without a matching rule is refused. */
  @Optional(ListOf(OneOf(ROLE_NAMES), { max: ROLE_NAMES.length, unique: true, nullable: true, example: ['viewer'] }))
  @Nullable()
  defaultRoles?: RoleName[] | null;
}

export class OidcProviderBody extends IdentityProviderBody {
  /** The issuer, or the URL of its discovery document. @example https://login.example.com/realms/main */
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.trim() : value))
  @IsUrl({ ...LOCAL, disallow_auth: true, allow_fragments: false })
  @Length(1, 300)
  issuer: string;
  /** @example sealwright */
  @Text(1, 200) clientId: string;
  /** Client secret; write-only. If omitted, the stored secret is kept. @example 5e7a0c */
  @Optional(Text(1, 500)) clientSecret?: string;
  /**
   * How this service authenticates to the provider (OpenID Connect Core section 9). Defaults to the method that the provider publishes. With
   * `private_key_jwt`, the service generates a key, which the provider reads from /api/auth/oidc/jwks?provider=<name>.
   */
  @Optional(OneOf(CLIENT_AUTHENTICATIONS, { nullable: true }))
  @Nullable()
  clientAuthentication?: ClientAuthenticationMethod | null;
  /** With `private_key_jwt`: the audience of assertions. Auth0 requires the issuer. */
  @Optional(OneOf(['token-endpoint', 'issuer'], { nullable: true, default: 'token-endpoint' }))
  @Nullable()
  assertionAudience?: 'token-endpoint' | 'issuer' | null;
  /** With `private_key_jwt`: whether to generate a new key. Register the new key with the provider at the same time. */
  @Optional(Flag()) newKey?: boolean;
  @ApiProperty({ example: ['openid', 'profile', 'email'], required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @Matches(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, { each: true })
  scopes?: string[];
  /**
   * Authentication context classes, such as the provider's name for multi-factor authentication. The classes are requested as `acr_values`. A sign-in or
   * step-up whose ID token contains none of the classes as `acr` is refused with `sso.weak-sign-in`. If empty or omitted, the provider decides.
   */
  @ApiProperty({ example: ['phr'], required: false, nullable: true })
  @Nullable()
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(10)
  @ArrayUnique()
  @Matches(/^[\x21-\x7e]{1,200}$/, { each: true })
  acrValues?: string[] | null;
  /**
   * Redirect URI that is registered with the provider. `own` is `/api/auth/oidc/callback/<name>`, the default for new providers. `shared` is
   * `/api/auth/oidc/callback`, which providers of earlier versions use until they are changed. A provider can be changed to `shared` only if no other provider
   * uses the shared redirect URI. If omitted, the redirect URI remains unchanged.
   */
  @Optional(OneOf(['own', 'shared'])) redirect?: OidcRedirect;

  toOrder(name: string): IdentityProviderOrder {
    const { label, enabled, issuer, clientId, clientSecret, rules, defaultRoles } = this;
    const scopes = [...new Set(['openid', ...(this.scopes ?? ['profile', 'email'])])];
    const common = { name, kind: 'oidc' as const, label, enabled, rules, defaultRoles: defaultRoles ?? null };
    return {
      ...common,
      newKey: this.newKey ?? false,
      settings: { issuer, clientId, scopes, ...this.authentication(), ...this.requirements() },
      ...(clientSecret === undefined ? {} : { clientSecret }),
    };
  }

  private requirements(): Pick<OidcSettings, 'acrValues' | 'redirect'> {
    const { acrValues, redirect } = this;
    return {
      ...(acrValues == null || acrValues.length === 0 ? {} : { acrValues }),
      ...(redirect === undefined ? {} : { redirect }),
    };
  }

  private authentication(): Pick<OidcSettings, 'clientAuthentication' | 'assertionAudience'> {
    const { clientAuthentication, assertionAudience } = this;
    return {
      ...(clientAuthentication == null ? {} : { clientAuthentication }),
      ...(assertionAudience == null ? {} : { assertionAudience }),
    };
  }
}

export class RequestedAuthnContextBody {
  /** URIs of authentication context classes. @example ["urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"] */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(10)
  @IsString({ each: true })
  @Matches(URI, { each: true })
  classes: string[];
  @Optional(OneOf(COMPARISONS, { default: 'exact' })) comparison?: (typeof COMPARISONS)[number];
  /**
   * URIs of further classes that satisfy the request. With `minimum`, list the stronger classes, because only the provider knows which classes are stronger.
   * Required if `comparison` is `better`, because a class is not better than itself.
   */
  @ApiProperty({ example: ['https://refeds.org/profile/mfa'], required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(10)
  @IsString({ each: true })
  @Matches(URI, { each: true })
  accepted?: string[];
}

export class SamlProviderBody extends IdentityProviderBody {
  /** The provider's entity ID. @example https://idp.example.com/metadata */
  @Text(1, 300) @Matches(/\S/) entityId: string;
  /** SingleSignOnService with the HTTP-Redirect binding. @example https://idp.example.com/sso */
  @IsUrl(LOCAL) @Length(1, 500) entryPoint: string;
  /**
   * Certificates of the keys with which the provider signs assertions, as PEM or as base64-encoded DER. During a rotation of the provider's key, send the old
   * and the new certificate. One string may contain several certificates.
   */
  @ListOf(Text(1, 20_000), {
    min: 1,
    max: 5,
    example: ['-----BEGIN CERTIFICATE-----\nMIIDIzCCAgugAwIBAgIUVczslfK9\n-----END CERTIFICATE-----'],
  })
  certificates: string[];
  /** SingleLogoutService with the HTTP-Redirect binding. If omitted, users stay signed in at the provider. @example https://idp.example.com/slo */
  @ApiProperty({ type: String, required: false, nullable: true })
  @Nullable()
  @IsOptional()
  @IsUrl(LOCAL)
  @Length(1, 500)
  logoutUrl?: string | null;
  /** Whether to sign authentication requests. Logout messages are always signed. */
  @Optional(Flag()) signRequests?: boolean;
  /**
   * Format of the NameID that is requested and required. Defaults to persistent. With null, no format is requested, and sign-ins must have the format that
   * the provider sent in the first test sign-in.
   * @example urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress
   */
  @ApiProperty({ type: String, required: false, nullable: true })
  @Nullable()
  @IsOptional()
  @Matches(URI)
  nameIdFormat?: string | null;
  /**
   * Requested authentication contexts (RequestedAuthnContext). A sign-in or step-up with another context is refused with `sso.weak-sign-in`. If
   * omitted, the provider decides.
   */
  @Optional(Nested(RequestedAuthnContextBody, { nullable: true, example: null }))
  @Nullable()
  requestedAuthnContext?: RequestedAuthnContextBody | null;
  /** Whether to replace the signing key immediately. If true, register the new certificate from this service's metadata with the provider at the same time. */
  @Optional(Flag()) newKey?: boolean;

  toOrder(name: string): IdentityProviderOrder {
    const { label, enabled, entryPoint, rules, defaultRoles } = this;
    const common = { name, kind: 'saml' as const, label, enabled, rules, defaultRoles: defaultRoles ?? null };
    const { logoutUrl = null, signRequests = false, newKey = false } = this;
    const certificates = storedCertificates(this.certificates);
    const entityId = this.entityId.trim();
    const settings = { entityId, entryPoint, certificates, logoutUrl, signRequests, ...this.request() };
    return { ...common, newKey, settings };
  }

  /** Returns the settings of the AuthnRequest. */
  private request(): Pick<SamlSettings, 'nameIdFormat' | 'requestedAuthnContext'> {
    const { nameIdFormat, requestedAuthnContext: context } = this;
    return {
      ...(nameIdFormat === undefined ? {} : { nameIdFormat }),
      ...(context == null ? {} : { requestedAuthnContext: requestedContext(context) }),
    };
  }
}

/** @throws Problem `identity-provider.authentication-context` */
function requestedContext({ classes, comparison = 'exact', accepted = [] }: RequestedAuthnContextBody) {
  if (comparison === 'better' && accepted.length === 0) {
    const detail = 'is required if "comparison" is "better", because a class is not better than itself';
    throw new Problem(
      'refused',
      'identity-provider.authentication-context',
      `/requestedAuthnContext/accepted: ${detail}.`,
      {
        errors: [{ pointer: '/requestedAuthnContext/accepted', detail }],
      },
    );
  }
  return { classes, comparison, ...(accepted.length === 0 ? {} : { accepted }) };
}

/** Changes to an OpenID Connect provider. Omitted members remain unchanged. Null resets a member to its default. */
export class ChangeOidcProviderBody extends PartialType(OmitType(OidcProviderBody, ['toOrder'])) {
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, required: false, nullable: true, example: ['viewer'] })
  @Nullable()
  declare defaultRoles?: RoleName[] | null;
  @Nullable() declare clientAuthentication?: ClientAuthenticationMethod | null;
  @Nullable() declare assertionAudience?: 'token-endpoint' | 'issuer' | null;
  @Nullable() declare acrValues?: string[] | null;

  /** @param provider the current provider */
  toOrder(provider: IdentityProvider): IdentityProviderOrder {
    return Object.assign(new OidcProviderBody(), bodyOf(provider), given(this)).toOrder(provider.name);
  }
}

/** Changes to a SAML 2.0 provider. Omitted members remain unchanged. Null resets a member to its default. */
export class ChangeSamlProviderBody extends PartialType(OmitType(SamlProviderBody, ['toOrder'])) {
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, required: false, nullable: true, example: ['viewer'] })
  @Nullable()
  declare defaultRoles?: RoleName[] | null;
  @Nullable() declare logoutUrl?: string | null;
  @Nullable() declare nameIdFormat?: string | null;
  @Nullable() declare requestedAuthnContext?: RequestedAuthnContextBody | null;

  /** @param provider the current provider */
  toOrder(provider: IdentityProvider): IdentityProviderOrder {
    return Object.assign(new SamlProviderBody(), bodyOf(provider), given(this)).toOrder(provider.name);
  }
}

function bodyOf({ label, enabled, rules, defaultRoles, settings }: IdentityProvider): object {
  const { ourCertificate: _ours, seenNameIdFormat: _seen, ...rest } = settings as Partial<SamlSettings>;
  return { label, enabled, rules, defaultRoles, ...rest };
}

function given(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
