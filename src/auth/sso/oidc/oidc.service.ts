import { Injectable, Logger } from '@nestjs/common';
import * as oidc from 'openid-client';
import { Config } from '../../../platform/config/config.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { newSecret } from '../../model/secret-text.js';
import {
  type IdentityProvider,
  oidcRedirectOf,
  oidcRedirectUri,
  type OidcSettings,
} from '../../model/identity-provider.entity.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { ourKeySet } from './oidc-client-authentication.js';
import { OidcProviders, providerErrorOf, oidcReasonOf } from './oidc-providers.js';
import type { Redirect } from '../../credentials/callers/cookies.js';
import { returnPath, type SsoOrder, SsoTransactions } from '../sign-in/sso-transactions.js';
import type { Assertion } from '../sign-in/assertion.js';
import { SsoSignInService } from '../sign-in/sso-sign-in.service.js';
import type { SsoTransaction } from '../sign-in/sso.entity.js';

/** Value of max_age: the maximum time since the user authenticated at the provider, in seconds. It equals the maximum lifetime of a session. */
const MAX_AGE_SECONDS = String(30 * 24 * 3600);

/** OidcService implements OpenID Connect sign-in: the authorization code flow with PKCE, state and nonce. openid-client verifies the response. */
@Injectable()
export class OidcService {
  private readonly logger = new Logger(OidcService.name);

  constructor(
    private readonly config: Config,
    private readonly providers: IdentityProvidersService,
    private readonly published: OidcProviders,
    private readonly transactions: SsoTransactions,
    private readonly signIn: SsoSignInService,
  ) {}

  /** Starts a sign-in. Returns the redirect to the provider. */
  async begin(order: SsoOrder): Promise<Redirect> {
    const returnTo = returnPath(order.returnTo, this.config.publicUrl);
    const provider = await this.providers.forSignIn('oidc', order);
    const configuration = await this.published.configurationOf(provider);
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    const browser = newSecret('session').text;
    const redirect = oidcRedirectOf(provider.settings);
    await this.transactions.start({
      providerId: provider.id,
      key: state,
      browser,
      secrets: { nonce, verifier, redirect },
      returnTo,
      forBrowser: order.answer === 'cookie',
      sessionId: order.stepUp ?? null,
      testedBy: order.testedBy,
    });
    const { scopes, acrValues = [] } = provider.settings as OidcSettings;
    const url = await this.authorizationUrl(provider, configuration, {
      redirect_uri: oidcRedirectUri(this.config.publicUrl, provider.name, redirect),
      scope: scopes.join(' '),
      ...(acrValues.length === 0 ? {} : { acr_values: acrValues.join(' ') }),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // With max_age, the provider must send auth_time (OpenID Connect Core section 2).
      ...(order.stepUp === undefined ? { max_age: MAX_AGE_SECONDS } : { max_age: '0', prompt: 'login' }),
    });
    return { url: url.href, browser };
  }

  /**
   * Handles the authorization response.
   *
   * @param address name of the provider in the URL at which the response arrived; undefined at the shared URL
   * @returns the URL to which to redirect the browser
   */
  async finish(
    { query, address }: { readonly query: string; readonly address: string | undefined },
    browser: string | undefined,
    origin: Origin,
  ): Promise<string> {
    const state = new URLSearchParams(query).get('state') ?? '';
    const { row, secrets } = await this.transactions.take(state, browser);
    const provider = await this.providers.ofAttempt(row);
    const verify = async () => {
      await this.assertOwnResponse(provider, { query, address, redirect: secrets['redirect'] });
      return this.assertionOf(row, provider, query, { ...secrets, state });
    };
    return this.signIn.conclude({ row, provider, isBound: true, verify }, origin);
  }

  /**
   * Verifies that the response came from the provider to which the browser was sent (mix-up, RFC 9700 section 4.4). Each provider has its own redirect URI. At
   * the shared URI of earlier versions, only `iss` (RFC 9207) distinguishes providers, so `iss` is required if several providers share the URI.
   *
   * @throws Problem `sso.refused`, `sso.redirect-shared`
   */
  private async assertOwnResponse(
    provider: IdentityProvider,
    {
      query,
      address,
      redirect = 'shared',
    }: { query: string; address: string | undefined; redirect: string | undefined },
  ): Promise<void> {
    const expected = redirect === 'own' ? provider.name : undefined;
    if (address !== expected) {
      this.logger.warn(
        `a response for identity provider ${provider.name} arrived at the redirect URI of ${address ?? 'all providers'}`,
      );
      throw refused(new Error('the response arrived at the redirect URI of another provider'));
    }
    if (expected !== undefined || new URLSearchParams(query).has('iss')) return;
    const sharing = await this.providers.sharingRedirect();
    if (sharing.length <= 1) return;
    const names = sharing.map(({ name }) => `"${name}"`).join(', ');
    const detail = `Several identity providers share one redirect URI (${names}), and the response does not name its issuer. An administrator must set "redirect" to "own" for each provider.`;
    throw new Problem('forbidden', 'sso.redirect-shared', detail);
  }

  /** Returns the JWK Set (RFC 7517 section 5) of the key with which the service authenticates to the provider. */
  async keySet(name: string | undefined): Promise<{ keys: Record<string, unknown>[] }> {
    const { settings } = await this.providers.published('oidc', name);
    return settings.ourCertificate === undefined ? { keys: [] } : ourKeySet(settings.ourCertificate);
  }

  private async assertionOf(
    row: SsoTransaction,
    provider: IdentityProvider,
    query: string,
    secrets: Record<string, string>,
  ): Promise<Assertion> {
    const { claims, signed, idToken, withheld } = await this.claimsOf(provider, query, secrets);
    // Only the ID token describes how the person authenticated; userinfo describes the person.
    const { sub, sid, amr, acr, auth_time: seconds } = signed;
    if (typeof sub !== 'string' || sub.trim() === '') throw refused(new Error('the sub claim is missing or empty'));
    return {
      transactionId: row.id,
      provider,
      subject: sub,
      claims,
      methods: Array.isArray(amr) ? amr.filter((word): word is string => typeof word === 'string').slice(0, 10) : [],
      contexts: typeof acr === 'string' ? [acr] : [],
      externalSession: typeof sid === 'string' ? sid : null,
      logoutHint: idToken,
      authenticatedAt: typeof seconds === 'number' ? new Date(seconds * 1000) : null,
      withheld,
    };
  }

  /** Returns the URL to which the browser is redirected. The request is pushed if the provider requires pushed authorization requests (RFC 9126 section 5). */
  private async authorizationUrl(
    provider: IdentityProvider,
    configuration: oidc.Configuration,
    request: Record<string, string>,
  ): Promise<URL> {
    if (configuration.serverMetadata().require_pushed_authorization_requests !== true)
      return oidc.buildAuthorizationUrl(configuration, request);
    try {
      return await oidc.buildAuthorizationUrlWithPAR(configuration, request);
    } catch (error) {
      this.logger.warn(`identity provider ${provider.name} refused a request: ${oidcReasonOf(error)}`);
      throw refused(error);
    }
  }

  private async claimsOf(
    provider: IdentityProvider,
    query: string,
    { state, nonce, verifier, redirect }: Record<string, string>,
  ): Promise<{
    claims: Record<string, unknown>;
    signed: Record<string, unknown>;
    idToken: string;
    withheld: string[];
  }> {
    const configuration = await this.published.configurationOf(provider);
    try {
      const redirectUri = oidcRedirectUri(this.config.publicUrl, provider.name, redirect === 'own' ? 'own' : 'shared');
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
        expectedState: state ?? '',
        expectedNonce: nonce ?? '',
        pkceCodeVerifier: verifier ?? '',
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined) throw new Error('the ID token is missing');
      await this.published.assertSigned(provider, tokens.id_token);
      const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasMore ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      const withheld = withheldScopes((provider.settings as OidcSettings).scopes, tokens.scope);
      return { claims: { ...more, ...claims }, signed: claims, idToken: tokens.id_token, withheld };
    } catch (error) {
      this.logger.warn(`rejected the response of identity provider ${provider.name}: ${oidcReasonOf(error)}`);
      throw refused(error);
    }
  }
}

/**
 * Returns the requested scopes that were not granted. A provider lists the granted scopes if they differ from the request (RFC 6749 section 5.1). Google
 * returns the scope `email` as `https://www.googleapis.com/auth/userinfo.email`. `offline_access` is ignored, because it affects only refresh tokens.
 */
function withheldScopes(requested: readonly string[], granted: string | undefined): string[] {
  if (granted === undefined) return [];
  const names = granted.split(' ');
  return requested.filter(
    (scope) => scope !== 'offline_access' && !names.some((name) => name === scope || name.endsWith(`.${scope}`)),
  );
}

/** Returns the Problem for a refused response. The detail quotes the provider's error. The cause contains the reason, for administrators. */
function refused(error: unknown): Problem {
  const words = providerErrorOf(error);
  const detail =
    words === undefined
      ? 'The response from the identity provider is invalid. Sign in again, or ask an administrator to test the provider.'
      : `The identity provider refused the sign-in: ${words}`;
  return new Problem('unauthenticated', 'sso.refused', detail, { cause: new Error(oidcReasonOf(error)) });
}
