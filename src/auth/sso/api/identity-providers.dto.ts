import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsOptional,
  IsString,
  IsUrl,
  Length,
  Matches,
  ValidateNested,
} from 'class-validator';
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

/** RFC 3986, of an attribute in XML. */
const URI = /^[a-z][a-z0-9+.-]{0,20}:[!#-;=?-~]{1,300}$/i;
const COMPARISONS = ['exact', 'minimum', 'maximum', 'better'] as const;
const LOCAL = { require_tld: false, require_protocol: true, protocols: ['http', 'https'] };

export class ClaimRuleBody {
  /** @example groups */
  @IsString()
  @Length(1, 200)
  claim: string;

  @ApiProperty({ enum: ['equals', 'prefix'] })
  @IsIn(['equals', 'prefix'])
  op: 'equals' | 'prefix';

  /** @example release-managers */
  @IsString()
  @Length(1, 200)
  value: string;

  @ApiProperty({ enum: ROLE_NAMES, isArray: true })
  @IsIn(ROLE_NAMES, { each: true })
  @ArrayMinSize(1)
  @ArrayMaxSize(ROLE_NAMES.length)
  roles: RoleName[];
}

class IdentityProviderBody {
  /** What stands on the button. @example 'Sign in with Example' */
  @IsString()
  @Length(1, 60)
  label: string;

  @IsBoolean()
  enabled: boolean;

  /** From claims or attributes to roles; all that match count. Applied at every sign-in. */
  @IsArray()
  @ArrayMaxSize(100)
  @ValidateNested({ each: true })
  @Type(() => ClaimRuleBody)
  rules: ClaimRuleBody[];

  /** Roles of people whom no rule matches. Without them those people are refused. */
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, required: false, nullable: true, example: ['viewer'] })
  @Nullable()
  @IsOptional()
  @IsIn(ROLE_NAMES, { each: true })
  @ArrayUnique()
  @ArrayMaxSize(ROLE_NAMES.length)
  defaultRoles?: RoleName[] | null;
}

export class OidcProviderBody extends IdentityProviderBody {
  /** What the provider calls itself, or the address of its discovery document. @example https://login.example.com/realms/main */
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.trim() : value))
  @IsUrl({ ...LOCAL, disallow_auth: true, allow_fragments: false })
  @Length(1, 300)
  issuer: string;

  /** @example sealwright */
  @IsString()
  @Length(1, 200)
  clientId: string;

  /** Write-only; leave it out to keep the one there is. @example 5e7a0c */
  @IsOptional()
  @IsString()
  @Length(1, 500)
  clientSecret?: string;

  /**
   * How we show the provider who we are (OpenID Connect core section 9); leave it out for the way that the provider publishes. With
   * private_key_jwt the service makes a key: the provider finds it at /api/auth/oidc/jwks?provider=<name>.
   */
  @ApiProperty({ enum: CLIENT_AUTHENTICATIONS, required: false, nullable: true })
  @Nullable()
  @IsOptional()
  @IsIn(CLIENT_AUTHENTICATIONS)
  clientAuthentication?: ClientAuthenticationMethod | null;

  /** With private_key_jwt: whom an assertion is for. Auth0 wants issuer. */
  @ApiProperty({ enum: ['token-endpoint', 'issuer'], required: false, nullable: true, default: 'token-endpoint' })
  @Nullable()
  @IsOptional()
  @IsIn(['token-endpoint', 'issuer'])
  assertionAudience?: 'token-endpoint' | 'issuer' | null;

  /** With private_key_jwt: make another key. The provider has to know it at the same time. */
  @IsOptional()
  @IsBoolean()
  newKey?: boolean;

  @ApiProperty({ example: ['openid', 'profile', 'email'], required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @Matches(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, { each: true })
  scopes?: string[];

  /**
   * Authentication context classes, such as the provider's name for multi-factor authentication. They are requested as `acr_values`, and a sign-in or
   * step-up whose ID token has none of them as `acr` is refused with `sso.weak-sign-in`. Empty or absent: the provider decides.
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
   * Redirect address that is registered at the provider. `own` is `/api/auth/oidc/callback/<name>`; new providers get it. `shared` is
   * `/api/auth/oidc/callback`, which providers of earlier versions use until they are changed. At most one provider can change to it. Absent: unchanged.
   */
  @ApiProperty({ enum: ['own', 'shared'], required: false })
  @IsOptional()
  @IsIn(['own', 'shared'])
  redirect?: OidcRedirect;

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

  @ApiProperty({ enum: COMPARISONS, required: false, default: 'exact' })
  @IsOptional()
  @IsIn(COMPARISONS)
  comparison?: (typeof COMPARISONS)[number];

  /**
   * URIs of further classes that satisfy the request, such as stronger ones with `minimum`: only the provider knows which class is stronger. With
   * `better` they are required, because the requested classes themselves do not satisfy it.
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
  /** The provider's name for itself. @example https://idp.example.com/metadata */
  @IsString()
  @Length(1, 300)
  @Matches(/\S/)
  entityId: string;

  /** SingleSignOnService with the HTTP-Redirect binding. @example https://idp.example.com/sso */
  @IsUrl(LOCAL)
  @Length(1, 500)
  entryPoint: string;

  /** Certificates that sign its assertions, in PEM or as bare base64 of DER; several, also in one text, while it changes its key. */
  @ApiProperty({ example: ['-----BEGIN CERTIFICATE-----\nMIIDIzCCAgugAwIBAgIUVczslfK9\n-----END CERTIFICATE-----'] })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(5)
  @IsString({ each: true })
  @Length(1, 20_000, { each: true })
  certificates: string[];

  /** SingleLogoutService with the HTTP-Redirect binding; leave it out where people stay signed in there. @example https://idp.example.com/slo */
  @ApiProperty({ type: String, required: false, nullable: true })
  @Nullable()
  @IsOptional()
  @IsUrl(LOCAL)
  @Length(1, 500)
  logoutUrl?: string | null;

  /** Sign what asks the provider to sign somebody in. What is said about signing out is always signed. */
  @IsOptional()
  @IsBoolean()
  signRequests?: boolean;

  /** Format that the NameIDPolicy asks for; null asks for none. Left out, a persistent name is asked for. @example urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress */
  @ApiProperty({ type: String, required: false, nullable: true })
  @Nullable()
  @IsOptional()
  @Matches(URI)
  nameIdFormat?: string | null;

  /**
   * Requested authentication contexts (RequestedAuthnContext). A sign-in or step-up with another context is refused with `sso.weak-sign-in`. Absent:
   * the provider decides.
   */
  @ApiProperty({ type: RequestedAuthnContextBody, required: false, nullable: true, example: null })
  @Nullable()
  @IsOptional()
  @ValidateNested()
  @Type(() => RequestedAuthnContextBody)
  requestedAuthnContext?: RequestedAuthnContextBody | null;

  /** Make another key to sign with. The provider has to be told of its certificate (the metadata has it) at the same time. */
  @IsOptional()
  @IsBoolean()
  newKey?: boolean;

  toOrder(name: string): IdentityProviderOrder {
    const { label, enabled, entryPoint, rules, defaultRoles } = this;
    const common = { name, kind: 'saml' as const, label, enabled, rules, defaultRoles: defaultRoles ?? null };
    const { logoutUrl = null, signRequests = false, newKey = false } = this;
    const certificates = storedCertificates(this.certificates);
    const entityId = this.entityId.trim();
    const settings = { entityId, entryPoint, certificates, logoutUrl, signRequests, ...this.request() };
    return { ...common, newKey, settings };
  }

  /** What the AuthnRequest asks for. */
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
    const detail = 'comparison "better" needs the classes that satisfy it, since the requested ones do not';
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

/** Changes of an OpenID Connect provider: absent members stay as they are, null resets a member to its default. */
export class ChangeOidcProviderBody extends PartialType(OmitType(OidcProviderBody, ['toOrder'])) {
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, required: false, nullable: true, example: ['viewer'] })
  @Nullable()
  declare defaultRoles?: RoleName[] | null;

  @Nullable()
  declare clientAuthentication?: ClientAuthenticationMethod | null;

  @Nullable()
  declare assertionAudience?: 'token-endpoint' | 'issuer' | null;

  @Nullable()
  declare acrValues?: string[] | null;

  /** @param provider the provider as it is */
  toOrder(provider: IdentityProvider): IdentityProviderOrder {
    return Object.assign(new OidcProviderBody(), bodyOf(provider), given(this)).toOrder(provider.name);
  }
}

/** Changes of a SAML 2.0 provider: absent members stay as they are, null resets a member to its default. */
export class ChangeSamlProviderBody extends PartialType(OmitType(SamlProviderBody, ['toOrder'])) {
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, required: false, nullable: true, example: ['viewer'] })
  @Nullable()
  declare defaultRoles?: RoleName[] | null;

  @Nullable()
  declare logoutUrl?: string | null;

  @Nullable()
  declare nameIdFormat?: string | null;

  @Nullable()
  declare requestedAuthnContext?: RequestedAuthnContextBody | null;

  /** @param provider the provider as it is */
  toOrder(provider: IdentityProvider): IdentityProviderOrder {
    return Object.assign(new SamlProviderBody(), bodyOf(provider), given(this)).toOrder(provider.name);
  }
}

function bodyOf({ label, enabled, rules, defaultRoles, settings }: IdentityProvider): object {
  const { ourCertificate: _ours, ...rest } = settings;
  return { label, enabled, rules, defaultRoles, ...rest };
}

function given(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
