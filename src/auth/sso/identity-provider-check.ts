import { Injectable } from '@nestjs/common';
import { X509Certificate } from 'node:crypto';
import type { IdentityProvider, SamlSettings } from './identity-provider.entity.js';
import { IdentityProvidersService } from './identity-providers.service.js';
import { OidcProviders, reasonOf } from './oidc-providers.js';

export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

const SOON_MS = 30 * 24 * 3600_000;

/** Looks whether a provider can work, before people try: what can be known without signing in. */
@Injectable()
export class IdentityProviderCheck {
  constructor(
    private readonly providers: IdentityProvidersService,
    private readonly oidc: OidcProviders,
  ) {}

  async of(name: string): Promise<Finding[]> {
    const provider = await this.providers.named(name);
    return provider.kind === 'oidc' ? this.ofOidc(provider) : ofSaml(provider.settings as SamlSettings);
  }

  private async ofOidc(provider: IdentityProvider): Promise<Finding[]> {
    try {
      const metadata = (await this.oidc.discover(provider)).serverMetadata();
      const { issuer, token_endpoint: token, end_session_endpoint: logout } = metadata;
      return [
        { check: 'discovery', ok: true, detail: `It calls itself ${issuer}.` },
        { check: 'token endpoint', ok: token !== undefined, detail: token ?? 'It names none.' },
        {
          check: 'sign-out',
          ok: true,
          detail: logout ?? 'It names no end_session_endpoint; people stay signed in there.',
        },
        await this.keysOf(provider),
      ];
    } catch (error) {
      return [{ check: 'discovery', ok: false, detail: reasonOf(error) }];
    }
  }

  private async keysOf(provider: IdentityProvider): Promise<Finding> {
    const check = 'signing keys';
    try {
      const { keys } = await this.oidc.keysOf(provider);
      return { check, ok: keys.length > 0, detail: `It publishes ${keys.length}.` };
    } catch (error) {
      return { check, ok: false, detail: reasonOf(error) };
    }
  }
}

function ofSaml({ certificates, entryPoint }: SamlSettings): Finding[] {
  const usable = certificates.map((pem, index) => ofCertificate(pem, `certificate ${index + 1}`));
  const secure = entryPoint.startsWith('https:');
  return [
    ...usable,
    {
      check: 'entry point',
      ok: true,
      detail: secure ? entryPoint : `${entryPoint}: people are sent there without TLS.`,
    },
  ];
}

function ofCertificate(pem: string, check: string): Finding {
  try {
    const { subject, validToDate } = new X509Certificate(pem);
    const left = validToDate.getTime() - Date.now();
    const until = `${subject.replaceAll('\n', ', ')} until ${validToDate.toISOString()}`;
    if (left < 0) return { check, ok: false, detail: `${until}: expired` };
    return { check, ok: true, detail: left < SOON_MS ? `${until}: ends within 30 days` : until };
  } catch {
    return { check, ok: false, detail: 'This is no certificate in PEM.' };
  }
}
