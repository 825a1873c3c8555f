import { Injectable, Logger } from '@nestjs/common';
import * as oidc from 'openid-client';
import { Config } from '../../platform/config/config.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/http/problem.js';
import { newSecret } from '../secret-text.js';
import type { IdentityProvider, OidcSettings } from './identity-provider.entity.js';
import { IdentityProvidersService } from './identity-providers.service.js';
import { returnPath } from './return-path.js';
import { SsoSignInService } from './sso-sign-in.service.js';
import { SsoTransactions } from './sso-transactions.js';

const BELIEVED_MS = 10 * 60_000;
const PATIENCE_SECONDS = 10;

interface Discovered {
  readonly until: number;
  readonly configuration: Promise<oidc.Configuration>;
}

export interface Redirect {
  readonly url: string;
  /** For the cookie of the browser. */
  readonly browser: string;
}

/** OpenID Connect: authorization code with PKCE, state and nonce; openid-client checks what comes back. */
@Injectable()
export class OidcService {
  private readonly logger = new Logger(OidcService.name);
  private readonly discovered = new Map<string, Discovered>();

  constructor(
    private readonly config: Config,
    private readonly providers: IdentityProvidersService,
    private readonly transactions: SsoTransactions,
    private readonly signIn: SsoSignInService,
  ) {}

  /** Begins a sign-in: where to send the browser, and what it has to remember. */
  async begin(name: string | undefined, wanted: string | undefined): Promise<Redirect> {
    const returnTo = returnPath(wanted, this.config.publicUrl);
    const provider = await this.providers.enabled('oidc', name);
    const configuration = await this.configurationOf(provider);
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    const browser = newSecret('session').text;
    await this.transactions.start({
      providerId: provider.id,
      key: state,
      browser,
      secrets: { nonce, verifier },
      returnTo,
    });
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.callbackUrl,
      scope: (provider.settings as OidcSettings).scopes.join(' '),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, browser };
  }

  /** Takes the answer. @returns where the browser goes, with the ticket behind the # */
  async finish(query: string, browser: string | undefined, origin: Origin): Promise<string> {
    const state = new URLSearchParams(query).get('state') ?? '';
    const { row, secrets } = await this.transactions.take(state, browser);
    const provider = await this.providers.enabledById(row.providerId);
    const claims = await this.claimsOf(provider, query, { ...secrets, state });
    const { sub, sid, amr } = claims;
    if (typeof sub !== 'string') throw refused();
    const ticket = await this.signIn.arrived(
      {
        transactionId: row.id,
        provider,
        subject: sub,
        claims,
        methods: Array.isArray(amr) ? amr.filter((word): word is string => typeof word === 'string').slice(0, 10) : [],
        externalSession: typeof sid === 'string' ? sid : null,
      },
      origin,
    );
    return `${row.returnTo}#ticket=${ticket}`;
  }

  private get callbackUrl(): string {
    return `${this.config.publicUrl}/api/auth/oidc/callback`;
  }

  private async claimsOf(
    provider: IdentityProvider,
    query: string,
    { state, nonce, verifier }: Record<string, string>,
  ): Promise<Record<string, unknown>> {
    const configuration = await this.configurationOf(provider);
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(`${this.callbackUrl}?${query}`), {
        expectedState: state ?? '',
        expectedNonce: nonce ?? '',
        pkceCodeVerifier: verifier ?? '',
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('there is no ID token');
      const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasMore ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      return { ...more, ...claims };
    } catch (error) {
      this.logger.warn(`the answer of ${provider.name} was refused: ${reasonOf(error)}`);
      throw refused();
    }
  }

  /** What the provider publishes, believed for a while; what could not be read is asked for again. */
  private async configurationOf(provider: IdentityProvider): Promise<oidc.Configuration> {
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

  private discover(provider: IdentityProvider): Promise<oidc.Configuration> {
    const { issuer, clientId } = provider.settings as OidcSettings;
    const secret = this.providers.clientSecretOf(provider);
    const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretPost(secret);
    return oidc.discovery(new URL(issuer), clientId, undefined, authentication, {
      timeout: PATIENCE_SECONDS,
      // Plain HTTP is for a provider on the developer's own machine.
      execute: this.config.isProd ? [] : [oidc.allowInsecureRequests],
    });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${code} ${error.message}` : error.message;
}

function refused(): Problem {
  return new Problem(
    'unauthenticated',
    'sso.refused',
    'The identity provider refused, or its answer cannot be trusted.',
  );
}
