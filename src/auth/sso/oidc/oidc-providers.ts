import { Injectable, Logger } from '@nestjs/common';
import type { JWTVerifyOptions, JWTVerifyResult } from 'jose';
import * as oidc from 'openid-client';
import { Config } from '../../../platform/config/config.js';
import { Problem } from '../../../platform/errors/problem.js';
import { OutboundClient } from '../../../platform/outbound/outbound-client.js';
import { issuerKey, type IdentityProvider, type OidcSettings } from '../../model/identity-provider.entity.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { clientAuthenticationFor, clientAuthenticationOf, withPostInstead } from './oidc-client-authentication.js';
import { type ProviderAnswer, tokenAnswer, userinfoAnswer } from './oidc-answers.js';
import { readMetadata } from './oidc-discovery.js';
import { isCostlyJwk, MAX_KEYS } from '../../credentials/key-sets/key-set.js';
import { isSignedBySecret, verifyToken, verifyWithSecret } from '../../credentials/key-sets/token-signature.js';
import { readJsonObject } from '../../../platform/json/strict-json.js';

const CACHE_MS = 10 * 60_000;
/** Minimum time between two fetches of the keys, because anyone can send a token with an unknown key ID. */
const KEYS_PAUSE_MS = 5000;
/** FAILURE_MS is the pause, in milliseconds, before a provider that did not respond is called again. */
const FAILURE_MS = 5000;
const TIMEOUT_SECONDS = 10;
/** Accepted clock skew, in seconds. */
const SKEW_SECONDS = 30;

interface Cached<T> {
  /** Time at which the configuration with which the value was read was last changed, in milliseconds since 1970. */
  readonly version: number;
  readonly until: number;
  readonly value: Promise<T>;
}

/** OidcProviders fetches and caches the metadata and keys of OpenID Connect providers, with the guarded outbound client. */
@Injectable()
export class OidcProviders {
  private readonly logger = new Logger(OidcProviders.name);
  private readonly discovered = new Map<string, Cached<oidc.Configuration>>();
  private readonly keys = new Map<string, Cached<{ keys: unknown[] }>>();
  /** Time at which keys were last fetched ahead of schedule, in milliseconds. */
  private readonly renewed = new Map<string, number>();

  constructor(
    private readonly config: Config,
    private readonly providers: IdentityProvidersService,
    private readonly outbound: OutboundClient,
  ) {}

  /** Returns the provider's configuration, cached for ten minutes. A failure is cached for five seconds. */
  async configurationOf(provider: IdentityProvider): Promise<oidc.Configuration> {
    try {
      return await cached(this.discovered, provider, () => this.discover(provider));
    } catch (error) {
      this.logger.warn(`identity provider ${provider.name} cannot be used: ${oidcReasonOf(error)}`);
      throw new Problem(
        'unavailable',
        'sso.provider-away',
        'The identity provider is unavailable or misconfigured. Retry after 5 seconds, or ask an administrator to test the provider.',
        {
          retryAfter: 5,
        },
      );
    }
  }

  /** Fetches the provider's metadata, bypassing the cache. Rejects with the reason if the metadata cannot be used with the settings. */
  async discover(provider: IdentityProvider): Promise<oidc.Configuration> {
    const settings = provider.settings as OidcSettings;
    const metadata = await readMetadata(settings.issuer, (url) => this.read(url));
    const secret = await this.providers.secretOf(provider);
    const method = clientAuthenticationFor(settings, metadata, secret !== undefined);
    const authentication = await clientAuthenticationOf(method, settings, secret);
    const client = { token_endpoint_auth_method: method, [oidc.clockTolerance]: SKEW_SECONDS };
    const configuration = new oidc.Configuration(metadata, settings.clientId, client, authentication);
    configuration.timeout = TIMEOUT_SECONDS;
    const readable = (url: string, answer: ProviderAnswer): ProviderAnswer | Promise<ProviderAnswer> => {
      if (url === metadata.token_endpoint) return tokenAnswer(answer);
      if (url !== metadata.userinfo_endpoint) return answer;
      return userinfoAnswer(answer, async (token) => (await this.verified(provider, token)).payload);
    };
    const send = async (url: string, options: oidc.CustomFetchOptions) => {
      const { status, contentType, body } = await readable(url, await this.fetch(url, options));
      return new Response(body, { status, headers: contentType === undefined ? {} : { 'content-type': contentType } });
    };
    const isOpen = settings.clientAuthentication == null && method === 'client_secret_basic';
    configuration[oidc.customFetch] =
      isOpen && secret !== undefined ? withPostInstead(metadata, settings, secret, send) : send;
    // Plain HTTP is intended for providers on the developer's machine.
    if (!this.config.isProd) oidc.allowInsecureRequests(configuration);
    return configuration;
  }

  /** Returns the keys that the provider currently publishes, without keys that are too costly to verify with. */
  async keysOf(provider: IdentityProvider): Promise<{ keys: unknown[] }> {
    const { jwks_uri: url = '' } = (await this.configurationOf(provider)).serverMetadata();
    const { status, body } = await this.read(url);
    if (status !== 200) throw new Error(`${url} responded with ${status}`);
    const { keys } = readJsonObject(body, { roundsNumbers: true });
    if (!Array.isArray(keys)) throw new Error(`${url} has no keys`);
    if (keys.length > MAX_KEYS) throw new Error(`${url} has ${keys.length} keys; the maximum is ${MAX_KEYS}`);
    return { keys: keys.filter((key: unknown) => !isCostlyJwk(key)) };
  }

  /** Verifies that a token was issued for this service and signed with a published key of the provider. Rejects with the reason. */
  async verified(provider: IdentityProvider, token: string, options: JWTVerifyOptions = {}): Promise<JWTVerifyResult> {
    const { issuer } = (await this.configurationOf(provider)).serverMetadata();
    const { clientId: audience } = provider.settings as OidcSettings;
    const expected = { issuer, audience, clockTolerance: SKEW_SECONDS, ...options };
    return verifyToken(token, (fresh) => this.cachedKeysOf(provider, fresh), expected);
  }

  /**
   * Verifies that an ID token, whose claims openid-client has checked, is signed with one of the provider's keys, or with the client secret if the metadata
   * allows signatures with the client secret.
   */
  async assertSigned(provider: IdentityProvider, idToken: string): Promise<void> {
    const secret = await this.providers.secretOf(provider);
    const isSecret = (provider.settings as OidcSettings).clientAuthentication !== 'private_key_jwt';
    if (isSignedBySecret(idToken) && isSecret && secret !== undefined) await verifyWithSecret(idToken, secret);
    else await this.verified(provider, idToken);
  }

  /**
   * Returns the enabled providers with this issuer, even if a configured issuer is written differently. Several providers have the same issuer if the service
   * is registered there with several client IDs.
   */
  async withIssuer(issuer: string): Promise<IdentityProvider[]> {
    if (!URL.canParse(issuer)) return [];
    const all = await this.providers.enabledOidc();
    const meant = all.filter(
      ({ settings }) => new URL((settings as OidcSettings).issuer).host === new URL(issuer).host,
    );
    const exact = meant.filter(({ settings }) => issuerKey((settings as OidcSettings).issuer) === issuerKey(issuer));
    if (exact.length > 0) return exact;
    const named: IdentityProvider[] = [];
    for (const provider of meant) {
      const configuration = await this.configurationOf(provider).catch(() => undefined);
      if (configuration?.serverMetadata().issuer === issuer) named.push(provider);
    }
    return named;
  }

  private cachedKeysOf(provider: IdentityProvider, fresh: boolean): Promise<{ keys: unknown[] }> {
    const { id } = provider;
    const isDue = Date.now() - (this.renewed.get(id) ?? 0) >= KEYS_PAUSE_MS;
    if (fresh && isDue) {
      this.renewed.set(id, Date.now());
      this.keys.delete(id);
    }
    return cached(this.keys, provider, () => this.keysOf(provider));
  }

  private async read(url: string): Promise<{ status: number; body: string }> {
    if (this.config.isProd && !url.startsWith('https:')) throw new Error(`${url} does not use HTTPS`);
    const headers = { accept: 'application/json' };
    return this.outbound.send({ method: 'GET', url, headers, timeoutMs: TIMEOUT_SECONDS * 1000 });
  }

  /** Sends a request of openid-client with the guarded outbound client (SSRF, CWE-918), because the provider chooses the URL. */
  private async fetch(url: string, { method, headers, body }: oidc.CustomFetchOptions): Promise<ProviderAnswer> {
    if (method !== 'GET' && method !== 'POST') throw new Error(`openid-client does not use ${method}`);
    const answer = await this.outbound.send({
      method,
      url,
      headers,
      timeoutMs: TIMEOUT_SECONDS * 1000,
      ...(typeof body === 'string' || body instanceof URLSearchParams ? { body: body.toString() } : {}),
    });
    return { status: answer.status, contentType: answer.headers['content-type'], body: answer.body };
  }
}

/**
 * Returns the cached value for a provider's current configuration. Concurrent calls share a single read. A failure is cached for a few seconds, because anyone
 * can trigger a call to a provider with a sign-in or a logout message.
 */
async function cached<T>(
  known: Map<string, Cached<T>>,
  { id, updatedAt }: IdentityProvider,
  read: () => Promise<T>,
): Promise<T> {
  const version = updatedAt.getTime();
  const found = known.get(id);
  if (found?.version === version && found.until > Date.now()) return found.value;
  const value = read();
  known.set(id, { version, until: Date.now() + CACHE_MS, value });
  try {
    return await value;
  } catch (error) {
    // A later read may have replaced the entry.
    if (known.get(id)?.value === value) known.set(id, { version, until: Date.now() + FAILURE_MS, value });
    throw error;
  }
}

export function oidcReasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const text = typeof code === 'string' ? `${code} ${error.message}` : error.message;
  const words = providerErrorOf(error);
  const full = words === undefined ? text : `${text} (${words})`;
  return cause instanceof Error ? `${full}: ${cause.message}` : full;
}

const MAX_ERROR_LENGTH = 200;

/** Returns `error` and `error_description` of an OAuth response (RFC 6749 sections 4.1.2.1 and 5.2), on one line. */
export function providerErrorOf(error: unknown): string | undefined {
  const { error: name, error_description: description } = error as { error?: unknown; error_description?: unknown };
  if (typeof name !== 'string') return undefined;
  const text = typeof description === 'string' ? `${name}: ${description}` : name;
  const shown = Array.from(text.replaceAll(/[\p{C}\s]+/gu, ' ').trim());
  return shown.length > MAX_ERROR_LENGTH ? `${shown.slice(0, MAX_ERROR_LENGTH).join('')}…` : shown.join('');
}
