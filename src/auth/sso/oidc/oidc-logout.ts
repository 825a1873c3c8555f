import { Injectable, Logger } from '@nestjs/common';
import { decodeJwt, type JWTPayload } from 'jose';
import * as oidc from 'openid-client';
import { Config } from '../../../platform/config/config.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { IdentityProvider, OidcSettings } from '../../model/identity-provider.entity.js';
import { ProviderLogouts } from '../sign-in/provider-logouts.js';
import { SsoBeginnings } from '../sign-in/sso-transactions.js';
import { OidcProviders, oidcReasonOf } from './oidc-providers.js';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Types of logout tokens. Older providers use JWT or omit the type; the event and the missing nonce distinguish logout tokens from other tokens. */
const TYPES = [undefined, 'JWT', 'logout+jwt'];

interface VerifiedLogout {
  readonly provider: IdentityProvider;
  readonly claims: JWTPayload;
}

/**
 * OidcLogout implements OpenID Connect logout: it returns the provider's logout URL after a sign-out from this service, and ends sessions after a logout at the
 * provider.
 */
@Injectable()
export class OidcLogout {
  private readonly logger = new Logger(OidcLogout.name);

  constructor(
    private readonly config: Config,
    private readonly published: OidcProviders,
    private readonly logouts: ProviderLogouts,
    private readonly beginnings: SsoBeginnings,
  ) {}

  /** Returns the provider's logout URL for the browser (RP-Initiated Logout 1.0); undefined if the provider does not have one. */
  async redirectTo(provider: IdentityProvider, idToken: string): Promise<string | undefined> {
    const configuration = await this.published.configurationOf(provider);
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const back = { id_token_hint: idToken, post_logout_redirect_uri: `${this.config.publicUrl}/` };
    return oidc.buildEndSessionUrl(configuration, back).href;
  }

  /** Handles a logout token (Back-Channel Logout 1.0 section 2.6). A replayed token does not end sessions that began after the token was issued. */
  async byToken(token: string | undefined, origin: Origin): Promise<void> {
    await this.beginnings.logout(origin, async () => {
      const verified = await this.verified(token);
      await this.beginnings.verifiedLogout(verified.provider.id, () => this.endBy(verified, origin));
      return true;
    });
  }

  private async endBy({ provider, claims }: VerifiedLogout, origin: Origin): Promise<boolean> {
    const { sid, sub, iat = 0 } = claims;
    const sessions = typeof sid === 'string' ? [sid] : undefined;
    return this.logouts.end(provider, { sessions, subject: sub, before: new Date((iat + 1) * 1000) }, origin);
  }

  /** Handles front-channel logout, which is authorized by the provider's session ID alone. */
  async bySession(issuer: string, session: string, origin: Origin): Promise<void> {
    await this.beginnings.logout(origin, async () => {
      let hasEnded = false;
      for (const provider of await this.published.withIssuer(issuer))
        if (await this.logouts.end(provider, { sessions: [session], before: new Date() }, origin)) hasEnded = true;
      return hasEnded;
    });
  }

  private async verified(token = ''): Promise<VerifiedLogout> {
    try {
      const { iss = '', aud } = decodeJwt(token);
      const provider = (await this.published.withIssuer(iss)).find(({ settings }) =>
        [aud].flat().includes((settings as OidcSettings).clientId),
      );
      if (provider === undefined) throw new Error('no identity provider matches the issuer and the audience');
      return { provider, claims: await this.claimsOf(provider, token) };
    } catch (error) {
      this.logger.warn(`rejected a logout token: ${oidcReasonOf(error)}`);
      throw new Problem('malformed', 'sso.logout-token', 'The logout token is invalid.');
    }
  }

  private async claimsOf(provider: IdentityProvider, token: string): Promise<JWTPayload> {
    const { payload, protectedHeader } = await this.published.verified(provider, token, {
      requiredClaims: ['iat', 'jti'],
      maxTokenAge: '5 minutes',
    });
    const events = payload['events'] as Record<string, unknown> | undefined;
    const names = [payload.sub, payload['sid']].filter((name) => name !== undefined);
    if (!TYPES.includes(protectedHeader.typ)) throw new Error('the typ header is not accepted');
    if (typeof events?.[EVENT] !== 'object' || 'nonce' in payload) throw new Error('not a logout token');
    if (names.length === 0 || names.some((name) => typeof name !== 'string' || name === ''))
      throw new Error('sub and sid are both missing, or one of the two is empty or not a string');
    return payload;
  }
}
