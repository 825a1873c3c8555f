import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ClaimRule } from './claim-rules.js';
import type { RoleName } from '../../access/scopes.js';

export type IdentityProviderKind = 'oidc' | 'saml';

/** Ways of a client to show who it is at the token endpoint (OpenID Connect core section 9). */
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
  /** How we show the provider who we are; null or absent leaves it to what the provider publishes. */
  readonly clientAuthentication?: ClientAuthenticationMethod | null;
  /** private_key_jwt: whom an assertion is for; the token endpoint when absent (OpenID Connect core section 9). */
  readonly assertionAudience?: 'token-endpoint' | 'issuer';
  /** private_key_jwt: PEM, of the key that signs our assertions. */
  readonly ourCertificate?: string;
}

/** RequestedAuthnContext (SAML core section 3.3.2.2.1). */
export interface RequestedAuthnContext {
  /** URIs of context classes. */
  readonly classes: readonly string[];
  readonly comparison: 'exact' | 'minimum' | 'maximum' | 'better';
}

export interface SamlSettings {
  readonly entityId: string;
  /** Where people are sent to (HTTP-Redirect binding). */
  readonly entryPoint: string;
  /** PEM, one certificate each; several while the provider changes its key. */
  readonly certificates: readonly string[];
  /** SingleLogoutService (HTTP-Redirect binding); null where people stay signed in at the provider. */
  readonly logoutUrl?: string | null;
  /** AuthnRequests are signed. Messages about signing out always are. */
  readonly signRequests?: boolean;
  /** Format in the NameIDPolicy; null sends none, absent asks for a persistent name. */
  readonly nameIdFormat?: string | null;
  /** How people have to show who they are; null or absent leaves it to the provider. */
  readonly requestedAuthnContext?: RequestedAuthnContext | null;
  /** PEM, of the key that we sign with; absent until a provider of an older version is stored again. */
  readonly ourCertificate?: string;
}

/** Whether the sealed secret is a key of ours, and no client secret. */
export function hasOurKey(settings: OidcSettings | SamlSettings): boolean {
  return 'entityId' in settings || settings.clientAuthentication === 'private_key_jwt';
}

/** Where people of an organisation sign in. */
@Entity('identity_provider')
export class IdentityProvider {
  @PrimaryColumn('uuid')
  id: string;

  /** Short name in addresses. */
  @Index('identity_provider_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  kind: IdentityProviderKind;

  /** What stands on the button. */
  @Column('text')
  label: string;

  @Column('boolean')
  enabled: boolean;

  @Column('jsonb')
  settings: OidcSettings | SamlSettings;

  /** Client secret of OIDC, or the key that signs what we say to the provider (PEM; SAML, and private_key_jwt of OIDC); sealed. */
  @Column('bytea', { nullable: true })
  secret: Buffer | null;

  /** From claims or attributes to roles, in this order. */
  @Column('jsonb')
  rules: ClaimRule[];

  /** Roles of people whom no rule knows; null lets them not in. */
  @Column('text', { array: true, nullable: true })
  defaultRoles: RoleName[] | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
