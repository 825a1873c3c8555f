import { Injectable, Logger } from '@nestjs/common';
import * as oidc from 'openid-client';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/http/problem.js';
import { OutboundClient } from '../../platform/outbound/outbound-client.js';
import type { IdentityProvider, OidcSettings } from './identity-provider.entity.js';
import { IdentityProvidersService } from './identity-providers.service.js';

const BELIEVED_MS = 10 * 60_000;
const PATIENCE_SECONDS = 10;

interface Discovered {
  readonly until: number;
  readonly configuration: Promise<oidc.Configuration>;
}

/** What OpenID Connect providers publish of themselves, read by the guarded way out. */
@Injectable()
export class OidcProviders {
  private readonly logger = new Logger(OidcProviders.name);
  private readonly discovered = new Map<string, Discovered>();

  constructor(
    private readonly config: Config,
    private readonly providers: IdentityProvidersService,
    private readonly outbound: OutboundClient,
  ) {}

  /** What the provider publishes, believed for a while; what could not be read is asked for again. */
  async configurationOf(provider: IdentityProvider): Promise<oidc.Configuration> {
    const place = `${provider.id} ${provider.updatedAt.getTime()}`;
    const known = this.discovered.get(place);
    if (known !== undefined && known.until > Date.now()) return known.configuration;
    const configuration = this.discover(provider);
    this.discovered.set(place, { until: Date.now() + BELIEVED_MS, configuration });
    try {
      return await configuration;
    } catch (error) {
      this.discovered.delete(place);
      this.logger.warn(`${provider.name} cannot be reached: ${reasonOf(error)}`);
      throw new Problem('unavailable', 'sso.provider-away', 'The identity provider does not answer as it should.', {
        retryAfter: 5,
      });
    }
  }

  /** Asks the provider now. */
  discover(provider: IdentityProvider): Promise<oidc.Configuration> {
    const { issuer, clientId } = provider.settings as OidcSettings;
    const secret = this.providers.secretOf(provider);
    const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretPost(secret);
    return oidc.discovery(new URL(issuer), clientId, undefined, authentication, {
      timeout: PATIENCE_SECONDS,
      [oidc.customFetch]: (url, options) => this.fetch(url, options),
      // Plain HTTP is for a provider on the developer's own machine.
      execute: this.config.isProd ? [] : [oidc.allowInsecureRequests],
    });
  }

  /** The keys that it signs with, as it publishes them now. */
  async keysOf(provider: IdentityProvider): Promise<{ keys: unknown[] }> {
    const { jwks_uri: url } = (await this.configurationOf(provider)).serverMetadata();
    if (url === undefined) throw new Error('the provider names no jwks_uri');
    const { status, body } = await this.outbound.send({ method: 'GET', url, timeoutMs: PATIENCE_SECONDS * 1000 });
    const { keys } = JSON.parse(body) as { keys?: unknown };
    if (status !== 200 || !Array.isArray(keys)) throw new Error(`there are no keys at ${url}`);
    return { keys };
  }

  /** Every call of openid-client, to whatever address the provider names: by the guarded way out (CWE-918). */
  private async fetch(url: string, { method, headers, body }: oidc.CustomFetchOptions): Promise<Response> {
    if (method !== 'GET' && method !== 'POST') throw new Error(`openid-client does not use ${method}`);
    const answer = await this.outbound.send({
      method,
      url,
      headers,
      timeoutMs: PATIENCE_SECONDS * 1000,
      ...(typeof body === 'string' || body instanceof URLSearchParams ? { body: body.toString() } : {}),
    });
    const contentType = answer.headers['content-type'];
    return new Response(answer.body, {
      status: answer.status,
      headers: contentType === undefined ? {} : { 'content-type': contentType },
    });
  }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const text = typeof code === 'string' ? `${code} ${error.message}` : error.message;
  return cause instanceof Error ? `${text}: ${cause.message}` : text;
}
