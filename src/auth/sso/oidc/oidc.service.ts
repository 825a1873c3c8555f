import { Injectable, Logger } from '@nestjs/common';
import * as oidc from 'openid-client';
import { Config } from '../../../platform/config/config.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { newSecret } from '../../model/secret-text.js';
import type { IdentityProvider, OidcSettings } from '../../model/identity-provider.entity.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { assertNothingLeftOut } from '../providers/claim-rules.js';
import { ourKeySet } from './oidc-client-authentication.js';
import { OidcProviders, providerErrorOf, oidcReasonOf } from './oidc-providers.js';
import type { Redirect } from '../../browser/cookies.js';
import { returnPath, type SsoOrder, SsoTransactions } from '../sign-in/sso-transactions.js';
import { type Assertion, SsoSignInService } from '../sign-in/sso-sign-in.service.js';
import type { SsoTransaction } from '../sign-in/sso.entity.js';

/** max_age in seconds: how long ago the person may have authenticated at the provider. A month, as long as a session. */
const MAX_AGE_SECONDS = String(30 * 24 * 3600);

/** OpenID Connect: authorization code flow with PKCE, state and nonce; openid-client checks the response. */
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

  /** Begins a sign-in. */
  async begin(order: SsoOrder): Promise<Redirect> {
    const returnTo = returnPath(order.returnTo, this.config.publicUrl);
    const provider = await this.providers.enabled('oidc', order.provider);
    const configuration = await this.published.configurationOf(provider);
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    const browser = newSecret('session').text;
    await this.transactions.start({
      providerId: provider.id,
      key: state,
      browser,
      secrets: { nonce, verifier },
      returnTo,
      forBrowser: order.answer === 'cookie',
      sessionId: order.stepUp ?? null,
    });
    const url = await this.authorizationUrl(provider, configuration, {
      redirect_uri: this.callbackUrl,
      scope: (provider.settings as OidcSettings).scopes.join(' '),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // With max_age the provider must send auth_time (OIDC core section 2).
      ...(order.stepUp === undefined ? { max_age: MAX_AGE_SECONDS } : { max_age: '0', prompt: 'login' }),
    });
    return { url: url.href, browser };
  }

  /** Handles the authorization response. @returns the URL for the browser */
  async finish(query: string, browser: string | undefined, origin: Origin): Promise<string> {
    const state = new URLSearchParams(query).get('state') ?? '';
    const { row, secrets } = await this.transactions.take(state, browser);
    return this.signIn.conclude(row, () => this.assertionOf(row, query, { ...secrets, state }), origin);
  }

  /** JWK Set (RFC 7517 section 5) of the key by which we authenticate to the provider. */
  async keySet(name: string | undefined): Promise<{ keys: Record<string, unknown>[] }> {
    const { settings } = await this.providers.enabled('oidc', name);
    return settings.ourCertificate === undefined ? { keys: [] } : ourKeySet(settings.ourCertificate);
  }

  private async assertionOf(row: SsoTransaction, query: string, secrets: Record<string, string>): Promise<Assertion> {
    const provider = await this.providers.enabledById(row.providerId);
    const { claims, idToken } = await this.claimsOf(provider, query, secrets);
    assertNothingLeftOut(claims, provider.rules);
    const { sub, sid, amr, auth_time: seconds } = claims;
    if (typeof sub !== 'string') throw refused();
    return {
      transactionId: row.id,
      provider,
      subject: sub,
      claims,
      methods: Array.isArray(amr) ? amr.filter((word): word is string => typeof word === 'string').slice(0, 10) : [],
      externalSession: typeof sid === 'string' ? sid : null,
      logoutHint: idToken,
      authenticatedAt: typeof seconds === 'number' ? new Date(seconds * 1000) : null,
    };
  }

  /** Where the request leads the browser. It is pushed to the provider where that takes no other (RFC 9126 section 5). */
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
      this.logger.warn(`${provider.name} did not take a request: ${oidcReasonOf(error)}`);
      throw refused(providerErrorOf(error));
    }
  }

  private get callbackUrl(): string {
    return `${this.config.publicUrl}/api/auth/oidc/callback`;
  }

  private async claimsOf(
    provider: IdentityProvider,
    query: string,
    { state, nonce, verifier }: Record<string, string>,
  ): Promise<{ claims: Record<string, unknown>; idToken: string }> {
    const configuration = await this.published.configurationOf(provider);
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(`${this.callbackUrl}?${query}`), {
        expectedState: state ?? '',
        expectedNonce: nonce ?? '',
        pkceCodeVerifier: verifier ?? '',
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined) throw new Error('there is no ID token');
      await this.published.assertSigned(provider, tokens.id_token);
      const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasMore ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      return { claims: { ...more, ...claims }, idToken: tokens.id_token };
    } catch (error) {
      this.logger.warn(`the answer of ${provider.name} was refused: ${oidcReasonOf(error)}`);
      throw refused(providerErrorOf(error));
    }
  }
}

/** @param words the provider's own error text */
function refused(words?: string): Problem {
  const detail =
    words === undefined
      ? 'The answer of the identity provider cannot be trusted.'
      : `The identity provider refused: ${words}`;
  return new Problem('unauthenticated', 'sso.refused', detail);
}
