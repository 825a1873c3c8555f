import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../../platform/errors/problem.js';
import { LastingSeal } from '../../../platform/sealing/lasting-seal.js';
import {
  IdentityProvider,
  type IdentityProviderKind,
  oidcRedirectOf,
  type SamlSettings,
} from './identity-provider.entity.js';

/** Purpose of the seal of client secrets and private keys. */
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

/** IdentityProvidersService reads identity providers and their secrets. */
@Injectable()
export class IdentityProvidersService {
  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
  ) {}

  async list(): Promise<IdentityProvider[]> {
    return this.db.manager.find(IdentityProvider, { order: { name: 'ASC' }, take: 200 });
  }

  /** The enabled provider of this kind: the named one, or the only one. */
  async enabled(kind: IdentityProviderKind, name: string | undefined): Promise<IdentityProvider> {
    const where = { kind, enabled: true, ...(name === undefined ? {} : { name }) };
    const [found, ...others] = await this.db.manager.find(IdentityProvider, { where, take: 2 });
    if (found === undefined) throw providerMissing();
    if (others.length > 0) throw new Problem('malformed', 'identity-provider.which', 'Name one: ?provider=…');
    return found;
  }

  /** Returns the provider for an attempt: an enabled one, or for a test any that is named. */
  async forSignIn(kind: IdentityProviderKind, { provider, testedBy }: Attempt): Promise<IdentityProvider> {
    return testedBy === undefined || provider === undefined
      ? this.enabled(kind, provider)
      : this.ofKind(kind, provider);
  }

  /** Returns the provider of an attempt that waits for its response. */
  async ofAttempt({ providerId, status }: { providerId: string; status: string }): Promise<IdentityProvider> {
    const state = status === 'TESTING' ? {} : { enabled: true };
    return existing(await this.db.manager.findOneBy(IdentityProvider, { id: providerId, ...state }));
  }

  /** Returns the provider whose public keys are read: the provider needs them before it is enabled here. */
  async published(kind: IdentityProviderKind, name: string | undefined): Promise<IdentityProvider> {
    return name === undefined ? this.enabled(kind, name) : this.ofKind(kind, name);
  }

  async named(name: string): Promise<IdentityProvider> {
    return existing(await this.db.manager.findOneBy(IdentityProvider, { name }));
  }

  async ofKind(kind: IdentityProviderKind, name: string): Promise<IdentityProvider> {
    return existing(await this.db.manager.findOneBy(IdentityProvider, { kind, name }));
  }

  async enabledById(id: string): Promise<IdentityProvider> {
    return existing(await this.db.manager.findOneBy(IdentityProvider, { id, enabled: true }));
  }

  async enabledOidc(): Promise<IdentityProvider[]> {
    return this.db.manager.findBy(IdentityProvider, { kind: 'oidc', enabled: true });
  }

  /** Returns the enabled OpenID Connect providers that use the redirect address of earlier versions. */
  async sharingRedirect(): Promise<IdentityProvider[]> {
    return (await this.enabledOidc()).filter(({ settings }) => oidcRedirectOf(settings) === 'shared');
  }

  async enabledWithEntityId(entityId: string): Promise<IdentityProvider | undefined> {
    const all = await this.db.manager.findBy(IdentityProvider, { kind: 'saml', enabled: true });
    return all.find(({ settings }) => (settings as SamlSettings).entityId === entityId);
  }

  /** Client secret of OIDC, or our private key (PEM) where `hasOurKey`. */
  async secretOf({ id, secret }: IdentityProvider): Promise<string | undefined> {
    return secret === null ? undefined : (await this.seal.open(PROVIDER_SECRET_SEAL, id, secret)).toString();
  }
}

function existing(found: IdentityProvider | null): IdentityProvider {
  if (found === null) throw providerMissing();
  return found;
}

export function providerMissing(): Problem {
  return new Problem('missing', 'identity-provider.missing', 'There is no such identity provider.');
}
