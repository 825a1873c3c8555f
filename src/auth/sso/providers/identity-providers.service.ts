import { findTrusted, trustedRows } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type FindOptionsWhere } from 'typeorm';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { LastingSeal } from '../../../platform/sealing/lasting-seal.js';
import {
  IdentityProvider,
  type IdentityProviderKind,
  oidcRedirectOf,
  type SamlSettings,
} from '../../model/identity-provider.entity.js';

/** Purpose for which client secrets and private keys are sealed. */
export const PROVIDER_SECRET_SEAL = 'identity provider secret';
export const SEALED_PROVIDER_SECRET = {
  table: 'identity_provider',
  column: 'secret',
  purpose: PROVIDER_SECRET_SEAL,
  place: 't.id::text',
} as const;

/** Attempt is the beginning of a sign-in, or of a test by an administrator. */
interface Attempt {
  readonly provider?: string | undefined;
  readonly testedBy?: string | undefined;
}

/** Maximum number of providers, all of which are returned in one list. */
export const MAX_PROVIDERS = 200;

/** IdentityProvidersService reads identity providers and their secrets. */
@Injectable()
export class IdentityProvidersService {
  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
  ) {}

  async list(): Promise<IdentityProvider[]> {
    return this.db.manager.find(IdentityProvider, { order: { name: 'ASC' }, take: MAX_PROVIDERS });
  }

  /** Returns the enabled provider with the given kind and name. Without a name, returns the only enabled provider of the kind. */
  async enabled(kind: IdentityProviderKind, name: string | undefined): Promise<IdentityProvider> {
    const where = { kind, enabled: true, ...(name === undefined ? {} : { name }) };
    const rows = await this.db.manager.find(IdentityProvider, { where, take: 2 });
    const [found, ...others] = trustedRows(this.db.manager, IdentityProvider, rows);
    if (found === undefined) throw providerMissing();
    if (others.length > 0)
      throw new Problem(
        'malformed',
        'identity-provider.which',
        'There are several identity providers. Select one with ?provider=NAME.',
      );
    return found;
  }

  /** Returns the provider for an attempt. The provider must be enabled, unless a test names it. */
  async forSignIn(kind: IdentityProviderKind, { provider, testedBy }: Attempt): Promise<IdentityProvider> {
    return testedBy === undefined || provider === undefined
      ? this.enabled(kind, provider)
      : this.ofKind(kind, provider);
  }

  /** Returns the provider of an attempt that is waiting for its response. */
  async ofAttempt({ providerId, status }: { providerId: string; status: string }): Promise<IdentityProvider> {
    const state = status === 'TESTING' ? {} : { enabled: true };
    return this.existing({ id: providerId, ...state });
  }

  /**
   * Returns the provider whose keys or metadata are published. A named provider may be disabled, because a provider needs the keys before an administrator
   * enables it.
   */
  async published(kind: IdentityProviderKind, name: string | undefined): Promise<IdentityProvider> {
    return name === undefined ? this.enabled(kind, name) : this.ofKind(kind, name);
  }

  async named(name: string): Promise<IdentityProvider> {
    return this.existing({ name });
  }

  async ofKind(kind: IdentityProviderKind, name: string): Promise<IdentityProvider> {
    return this.existing({ kind, name });
  }

  async enabledById(id: string): Promise<IdentityProvider> {
    return this.existing({ id, enabled: true });
  }

  async enabledOidc(): Promise<IdentityProvider[]> {
    const all = await this.db.manager.findBy(IdentityProvider, { kind: 'oidc', enabled: true });
    return trustedRows(this.db.manager, IdentityProvider, all);
  }

  /** Returns the enabled OpenID Connect providers that use the redirect URI of earlier versions. */
  async sharingRedirect(): Promise<IdentityProvider[]> {
    return (await this.enabledOidc()).filter(({ settings }) => oidcRedirectOf(settings) === 'shared');
  }

  /** Returns the enabled SAML providers with this entity ID. Several providers have the same entity ID if they request different authentication. */
  async enabledWithEntityId(entityId: string): Promise<IdentityProvider[]> {
    const all = await this.db.manager.findBy(IdentityProvider, { kind: 'saml', enabled: true });
    return trustedRows(this.db.manager, IdentityProvider, all).filter(
      ({ settings }) => (settings as SamlSettings).entityId === entityId,
    );
  }

  /** Returns the OIDC client secret, or the service's private key (PEM) if `hasOurKey`. */
  async secretOf({ id, secret }: IdentityProvider): Promise<string | undefined> {
    return secret === null ? undefined : (await this.seal.open(PROVIDER_SECRET_SEAL, id, secret)).toString();
  }

  private async existing(where: FindOptionsWhere<IdentityProvider>): Promise<IdentityProvider> {
    const { manager } = this.db;
    const found = await findTrusted(manager, IdentityProvider, where);
    if (found === null) throw providerMissing();
    return found;
  }
}

export function providerMissing(): Problem {
  return missing('identity-provider');
}
