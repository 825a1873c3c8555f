import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { trimEndOf } from '../../formats/encoding/trim-end.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RoleName } from '../../access/scopes.js';

/** `groups equals release-managers → operator`. */
export interface ClaimRule {
  readonly claim: string;
  readonly op: 'equals' | 'prefix';
  readonly value: string;
  readonly roles: readonly RoleName[];
}

/** RFC 8414 puts the well-known part before the path of an issuer, OpenID Connect Discovery behind it. */
const WELL_KNOWN = /^\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(?:\/|$)/;
const APPENDED = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)$/;

export type IdentityProviderKind = 'oidc' | 'saml';

/** Client authentication at the token endpoint (OpenID Connect core section 9). */
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
  /** How the service authenticates to the provider. Null or absent: the method that the provider publishes. */
  readonly clientAuthentication?: ClientAuthenticationMethod | null;
  /** private_key_jwt: audience of an assertion; absent: the token endpoint (OpenID Connect core section 9). */
  readonly assertionAudience?: 'token-endpoint' | 'issuer';
  /** private_key_jwt: PEM certificate of the key that signs our assertions. */
  readonly ourCertificate?: string;
  /** Authentication context classes of which the ID token must have one (`acr`); empty or absent: any. */
  readonly acrValues?: readonly string[];
  /** Redirect address that is registered at the provider; absent in rows of earlier versions, which know the shared one only. */
  readonly redirect?: OidcRedirect;
}

/** `own`: `/api/auth/oidc/callback/<name>`. `shared`: the address of earlier versions, `/api/auth/oidc/callback`. */
export type OidcRedirect = 'own' | 'shared';

/** Returns which redirect address an OpenID Connect provider uses. */
export function oidcRedirectOf(settings: OidcSettings | SamlSettings): OidcRedirect {
  return ('issuer' in settings ? settings.redirect : undefined) ?? 'shared';
}

/** Returns the redirect address to register at an OpenID Connect provider (RFC 9700 section 4.4.2). */
export function oidcRedirectUri(publicUrl: string, name: string, redirect: OidcRedirect): string {
  const shared = `${publicUrl}/api/auth/oidc/callback`;
  return redirect === 'own' ? `${shared}/${name}` : shared;
}

/** RequestedAuthnContext (SAML core section 3.3.2.2.1). */
export interface RequestedAuthnContext {
  /** URIs of context classes. */
  readonly classes: readonly string[];
  readonly comparison: 'exact' | 'minimum' | 'maximum' | 'better';
  /** URIs of further classes that satisfy the request: only the provider knows which classes are stronger than others. */
  readonly accepted?: readonly string[];
}

export interface SamlSettings {
  readonly entityId: string;
  /** SingleSignOnService (HTTP-Redirect binding). */
  readonly entryPoint: string;
  /** PEM, one certificate each; several while the provider changes its key. */
  readonly certificates: readonly string[];
  /** SingleLogoutService (HTTP-Redirect binding). Null if users stay signed in at the provider. */
  readonly logoutUrl?: string | null;
  /** AuthnRequests are signed. Messages about signing out always are. */
  readonly signRequests?: boolean;
  /** Format in the NameIDPolicy. Null sends no format, absent requests a persistent name. */
  readonly nameIdFormat?: string | null;
  /** NameID format of the first sign-in, required of later sign-ins. Used if nameIdFormat is null. */
  readonly seenNameIdFormat?: string;
  /** Required authentication contexts; null or absent: the provider decides. */
  readonly requestedAuthnContext?: RequestedAuthnContext | null;
  /** PEM certificate of the key that signs our messages; absent until a provider of an older version is stored again. */
  readonly ourCertificate?: string;
}

/**
 * Returns the form in which issuers are compared: scheme and host in lower case, without default port, trailing slash, or the well-known part that
 * administrators paste with it (OpenID Connect Discovery section 4, RFC 8414 section 3).
 *
 * @throws TypeError if the text is not a URL
 */
export function issuerKey(issuer: string): string {
  const url = new URL(issuer.trim());
  const path = trimEndOf(url.pathname.replace(WELL_KNOWN, '/'), '/').replace(APPENDED, '');
  return `${url.origin}${trimEndOf(path, '/')}`;
}

/** issuerOf returns the issuer of OpenID Connect in the form for comparison, or the entity id of SAML. */
export function issuerOf(settings: OidcSettings | SamlSettings): string {
  return 'issuer' in settings ? issuerKey(settings.issuer) : settings.entityId;
}

/** Reports whether the sealed secret is a private key of the service, not a client secret. */
export function hasOurKey(settings: OidcSettings | SamlSettings): boolean {
  return 'entityId' in settings || settings.clientAuthentication === 'private_key_jwt';
}

/** IdentityProvider is where the users of an organization sign in. */
@Entity('identity_provider')
@Sealed<IdentityProvider>({
  // The secret is encrypted for its row by the HSM.
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

  /** Client secret of OIDC, or the private key that signs our messages to the provider (PEM; SAML, and private_key_jwt of OIDC); sealed. */
  @Column('bytea', { nullable: true })
  secret: Buffer | null;

  /** Rules that map claims or attributes to roles. */
  @Column('jsonb')
  rules: ClaimRule[];

  /** Roles of users whom no rule matches; null refuses them. */
  @Column('text', { array: true, nullable: true })
  defaultRoles: RoleName[] | null;

  /** Incremented by every change; the ETag. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
