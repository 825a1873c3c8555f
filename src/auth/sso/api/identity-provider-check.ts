import { Injectable } from '@nestjs/common';
import { importJWK, type JWK } from 'jose';
import {
  type IdentityProvider,
  oidcRedirectOf,
  type OidcSettings,
  type SamlSettings,
} from '../../model/identity-provider.entity.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { clientAuthenticationFor } from '../oidc/oidc-client-authentication.js';
import { OidcProviders, oidcReasonOf } from '../oidc/oidc-providers.js';
import { readSamlCertificates } from '../providers/saml-certificates.js';

export interface ProviderFinding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

const EXPIRES_SOON_MS = 30 * 24 * 3600_000;

/** IdentityProviderCheck checks whether a provider is usable, as far as possible without a sign-in. */
@Injectable()
export class IdentityProviderCheck {
  constructor(
    private readonly providers: IdentityProvidersService,
    private readonly oidc: OidcProviders,
  ) {}

  async of(name: string): Promise<ProviderFinding[]> {
    const provider = await this.providers.named(name);
    return provider.kind === 'oidc' ? this.ofOidc(provider) : ofSaml(provider.settings as SamlSettings);
  }

  private async ofOidc(provider: IdentityProvider): Promise<ProviderFinding[]> {
    const settings = provider.settings as OidcSettings;
    try {
      const metadata = (await this.oidc.discover(provider)).serverMetadata();
      const { end_session_endpoint: logout, token_endpoint_auth_methods_supported: methods } = metadata;
      const secret = await this.providers.secretOf(provider);
      const used = clientAuthenticationFor(settings, metadata, secret !== undefined);
      return [
        { check: 'discovery', ok: true, detail: `The issuer is ${metadata.issuer}.` },
        { check: 'token endpoint', ok: true, detail: metadata.token_endpoint ?? '' },
        {
          check: 'client authentication',
          // A provider may accept an unlisted method for registered clients.
          ok: true,
          detail: `The method is ${used}. The provider lists ${methods?.join(', ') ?? 'no methods, which implies client_secret_basic'}.`,
        },
        scopesOf(settings, metadata.scopes_supported),
        {
          check: 'sign-out',
          ok: true,
          detail: logout ?? 'The provider has no end_session_endpoint, so users stay signed in at the provider.',
        },
        await this.keysOf(provider),
        await this.redirectOf(provider, metadata.authorization_response_iss_parameter_supported === true),
        contextsOf(settings, metadata['acr_values_supported']),
      ];
    } catch (error) {
      return [{ check: 'discovery', ok: false, detail: oidcReasonOf(error) }];
    }
  }

  /** Checks the redirect URI. At the shared redirect URI, only the issuer in the response (RFC 9207) distinguishes providers. */
  private async redirectOf(provider: IdentityProvider, sendsIssuer: boolean): Promise<ProviderFinding> {
    const check = 'redirect URI';
    if (oidcRedirectOf(provider.settings) === 'own')
      return { check, ok: true, detail: 'The provider has its own redirect URI.' };
    const others = (await this.providers.sharingRedirect()).filter(({ name }) => name !== provider.name);
    const names = others.map(({ name }) => `"${name}"`).join(', ');
    const shared =
      'This is the redirect URI of earlier versions. Register the provider-specific redirect URI with the provider, then set `redirect` to `own`.';
    if (others.length === 0) return { check, ok: true, detail: shared };
    const detail = `The redirect URI is shared with ${names}${sendsIssuer ? '' : ', but the metadata does not announce the iss parameter (RFC 9207), so sign-ins are refused'}. ${shared}`;
    return { check, ok: sendsIssuer, detail };
  }

  private async keysOf(provider: IdentityProvider): Promise<ProviderFinding> {
    const check = 'signing keys';
    try {
      const { keys } = await this.oidc.keysOf(provider);
      const usable = await Promise.all(keys.map(isUsable));
      const count = usable.filter(Boolean).length;
      return {
        check,
        ok: count > 0,
        detail: `The provider publishes ${keys.length} keys, ${count} of which are usable.`,
      };
    } catch (error) {
      return { check, ok: false, detail: oidcReasonOf(error) };
    }
  }
}

/** Reports scopes that the provider does not list. The check passes, because a provider may accept unlisted scopes. */
function scopesOf({ scopes }: OidcSettings, supported: readonly string[] | undefined): ProviderFinding {
  const unlisted = supported === undefined ? [] : scopes.filter((scope) => !supported.includes(scope));
  const detail =
    unlisted.length === 0
      ? scopes.join(' ')
      : `The provider does not list ${unlisted.join(' ')} and may refuse to grant ${unlisted.length === 1 ? 'this scope' : 'these scopes'}.`;
  return { check: 'scopes', ok: true, detail };
}

function contextsOf({ acrValues = [] }: OidcSettings, supported: unknown): ProviderFinding {
  const check = 'authentication context';
  if (acrValues.length === 0)
    return { check, ok: true, detail: 'No authentication context is required. The provider decides.' };
  const unlisted = Array.isArray(supported) ? acrValues.filter((value) => !supported.includes(value)) : [];
  const detail = unlisted.length === 0 ? acrValues.join(' ') : `The provider does not list ${unlisted.join(' ')}.`;
  return { check, ok: true, detail };
}

async function isUsable(key: unknown): Promise<boolean> {
  const { alg, kty, crv } = (key ?? {}) as JWK;
  const guess = kty === 'RSA' ? 'RS256' : crv === 'P-384' ? 'ES384' : crv === 'P-521' ? 'ES512' : 'ES256';
  return importJWK(key as JWK, alg ?? (kty === 'OKP' ? 'EdDSA' : guess)).then(
    () => (key as JWK).use !== 'enc',
    () => false,
  );
}

function ofSaml({ certificates, entryPoint }: SamlSettings): ProviderFinding[] {
  const usable = certificates.flatMap((text, index) => ofCertificates(text, `certificate ${index + 1}`));
  const secure = entryPoint.startsWith('https:');
  return [
    ...usable,
    {
      check: 'entry point',
      ok: true,
      detail: secure ? entryPoint : `${entryPoint}: users are redirected to this URL without TLS.`,
    },
  ];
}

/** Checks certificates by the same rules as a sign-in, which accepts an expired certificate because an administrator pinned the certificate. */
function ofCertificates(text: string, check: string): ProviderFinding[] {
  try {
    return readSamlCertificates(text).map(({ certificate: { subject, validToDate } }) => {
      const left = validToDate.getTime() - Date.now();
      const until = `${subject.replaceAll('\n', ', ')} until ${validToDate.toISOString()}`;
      const soon = left < EXPIRES_SOON_MS ? `${until}: expires within 30 days` : until;
      const expired = `${until}: expired. Users can still sign in, but obtain the new certificate from the provider.`;
      return { check, ok: true, detail: left < 0 ? expired : soon };
    });
  } catch (error) {
    return [{ check, ok: false, detail: oidcReasonOf(error) }];
  }
}
