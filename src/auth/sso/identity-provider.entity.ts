import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ClaimRule } from './claim-rules.js';
import type { RoleName } from '../scopes.js';

export type IdentityProviderKind = 'oidc' | 'saml';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

export interface SamlSettings {
  readonly entityId: string;
  /** Where people are sent to (HTTP-Redirect binding). */
  readonly entryPoint: string;
  /** PEM; several while the provider changes its key. */
  readonly certificates: readonly string[];
  /** SingleLogoutService (HTTP-Redirect binding); null where people stay signed in at the provider. */
  readonly logoutUrl?: string | null;
  /** AuthnRequests are signed. Messages about signing out always are. */
  readonly signRequests?: boolean;
  /** PEM, of the key that we sign with; absent until a provider of an older version is stored again. */
  readonly ourCertificate?: string;
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

  /** Client secret of OIDC, or the key that signs what we say to a SAML provider (PEM); sealed. */
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
