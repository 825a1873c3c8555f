import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { trimEndOf } from '../../platform/text/trim-end.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../../access/scopes.js';

/** ClaimRule maps a claim to roles: `groups equals release-managers → operator`. */
export interface ClaimRule {
  readonly claim: string;
  readonly op: 'equals' | 'prefix';
  readonly value: string;
  readonly roles: readonly RoleName[];
}

/** RFC 8414 inserts the well-known part before the issuer's path; OpenID Connect Discovery appends the well-known part to the path. */
const WELL_KNOWN = /^\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(?:\/|$)/;
const APPENDED = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)$/;

export type IdentityProviderKind = 'oidc' | 'saml';

/** Client authentication methods at the token endpoint (OpenID Connect Core section 9). */
export const CLIENT_AUTHENTICATIONS = [
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'none',
] as const;
export type ClientAuthenticationMethod = (typeof CLIENT_AUTHENTICATIONS)[number];

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** How the service authenticates to the provider. If null or absent, the method that the provider publishes is used. */
  readonly clientAuthentication?: ClientAuthenticationMethod | null;
  /** private_key_jwt: audience of the assertion. Defaults to the token endpoint (OpenID Connect core section 9). */
  readonly assertionAudience?: 'token-endpoint' | 'issuer';
  /** private_key_jwt: PEM certificate of the key with which the service signs assertions. */
  readonly ourCertificate?: string;
  /** Accepted authentication context classes (`acr`) of the ID token. If empty or absent, every class is accepted. */
  readonly acrValues?: readonly string[];
  /** Redirect URI registered at the provider; absent in rows of earlier versions, which only support the shared redirect URI. */
  readonly redirect?: OidcRedirect;
}

/** Kind of redirect URI. `own`: `/api/auth/oidc/callback/<name>`. `shared`: the redirect URI of earlier versions, `/api/auth/oidc/callback`. */
export type OidcRedirect = 'own' | 'shared';

/** Returns which redirect URI an OpenID Connect provider uses. */
export function oidcRedirectOf(settings: OidcSettings | SamlSettings): OidcRedirect {
  return ('issuer' in settings ? settings.redirect : undefined) ?? 'shared';
}

/** Returns the redirect URI to register at an OpenID Connect provider (RFC 9700 section 4.4.2). */
export function oidcRedirectUri(publicUrl: string, name: string, redirect: OidcRedirect): string {
  const shared = `${publicUrl}/api/auth/oidc/callback`;
  return redirect === 'own' ? `${shared}/${name}` : shared;
}

/** RequestedAuthnContext (SAML core section 3.3.2.2.1). */
export interface RequestedAuthnContext {
  /** URIs of context classes. */
  readonly classes: readonly string[];
  readonly comparison: 'exact' | 'minimum' | 'maximum' | 'better';
  /** URIs of further classes that satisfy the request, because only the provider knows which classes are stronger. */
  readonly accepted?: readonly string[];
}

export interface SamlSettings {
  readonly entityId: string;
  /** SingleSignOnService (HTTP-Redirect binding). */
  readonly entryPoint: string;
  /** PEM certificates of the provider; several during a key rotation. */
  readonly certificates: readonly string[];
  /** SingleLogoutService (HTTP-Redirect binding). Null if the service does not sign users out at the provider. */
  readonly logoutUrl?: string | null;
  /** Whether AuthnRequests are signed. Logout messages are always signed. */
  readonly signRequests?: boolean;
  /** Format in the NameIDPolicy. If null, no format is sent; if absent, a persistent identifier is requested. */
  readonly nameIdFormat?: string | null;
  /** NameID format recorded in a test sign-in. If nameIdFormat is null, sign-ins must have this format. */
  readonly seenNameIdFormat?: string;
  /** Required authentication contexts; if null or absent, the provider decides. */
  readonly requestedAuthnContext?: RequestedAuthnContext | null;
  /** PEM certificate of the key with which the service signs messages; absent until a provider created by an earlier version is saved again. */
  readonly ourCertificate?: string;
}

/**
 * Returns the form in which issuers are compared: scheme and host in lower case, without default port, trailing slash, or the well-known part that
 * administrators may paste with the issuer (OpenID Connect Discovery section 4, RFC 8414 section 3).
 *
 * @throws TypeError if the text is not a URL
 */
export function issuerKey(issuer: string): string {
  const url = new URL(issuer.trim());
  const path = trimEndOf(url.pathname.replace(WELL_KNOWN, '/'), '/').replace(APPENDED, '');
  return `${url.origin}${trimEndOf(path, '/')}`;
}

/** issuerOf returns the OpenID Connect issuer in normalized form, or the SAML entity ID. */
export function issuerOf(settings: OidcSettings | SamlSettings): string {
  return 'issuer' in settings ? issuerKey(settings.issuer) : settings.entityId;
}

/** Reports whether the sealed secret is a private key of the service, not a client secret. */
export function hasOurKey(settings: OidcSettings | SamlSettings): boolean {
  return 'entityId' in settings || settings.clientAuthentication === 'private_key_jwt';
}

/** IdentityProvider is an OpenID Connect or SAML provider at which the users of an organization sign in. */
@Entity('identity_provider')
@Sealed<IdentityProvider>({
  // The HSM encrypts the secret and binds it to its row.
  except: ['label', 'secret', 'createdAt', 'updatedAt'],
  edits: 'version',
})
export class IdentityProvider extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Short name in URLs. */
  @Index('identity_provider_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  kind: IdentityProviderKind;

  /** Label of the sign-in button. */
  @Column('text')
  label: string;

  @Column('boolean')
  enabled: boolean;

  @Column('jsonb')
  settings: OidcSettings | SamlSettings;

  /** Client secret (OIDC), or private key in PEM with which the service signs messages (SAML, and OIDC with private_key_jwt); sealed. */
  @Column('bytea', { nullable: true })
  secret: Buffer | null;

  /** Rules that map claims or attributes to roles. */
  @Column('jsonb')
  rules: ClaimRule[];

  /** Roles assigned when no rule matches; null rejects the sign-in. */
  @Column('text', { array: true, nullable: true })
  defaultRoles: RoleName[] | null;

  /** Version, which each change increments and which is used as the ETag. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
