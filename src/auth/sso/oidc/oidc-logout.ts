import { Injectable, Logger } from '@nestjs/common';
import { decodeJwt, type JWTPayload } from 'jose';
import * as oidc from 'openid-client';
import type { Actor } from '../../../access/caller.js';
import { Config } from '../../../platform/config/config.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { SessionsService } from '../../sessions/sessions.service.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';
import { OidcProviders, oidcReasonOf } from './oidc-providers.js';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Types of logout tokens. Older providers write JWT or nothing; the event and the missing nonce distinguish logout tokens from others. */
const TYPES = [undefined, 'JWT', 'logout+jwt'];

/** Logout of OpenID Connect: at the provider if it began here, here if it began at the provider. */
@Injectable()
export class OidcLogout {
  private readonly logger = new Logger(OidcLogout.name);

  constructor(
    private readonly config: Config,
    private readonly published: OidcProviders,
    private readonly sessions: SessionsService,
  ) {}

  /** URL for the browser (RP-Initiated Logout 1.0); undefined if the provider has none. */
  async redirectTo(provider: IdentityProvider, idToken: string): Promise<string | undefined> {
    const configuration = await this.published.configurationOf(provider);
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const back = { id_token_hint: idToken, post_logout_redirect_uri: `${this.config.publicUrl}/` };
    return oidc.buildEndSessionUrl(configuration, back).href;
  }

  /** Handles a logout token (Back-Channel Logout 1.0 section 2.6). A replayed one ends no session that began after it. */
  async byToken(token: string | undefined, origin: Origin): Promise<void> {
    const { providers, claims } = await this.verified(token);
    const { sid, sub, iat = 0 } = claims;
    const session = typeof sid === 'string' ? sid : undefined;
    const what = { session, subject: sub, before: new Date((iat + 1) * 1000) };
    for (const provider of providers) await this.end(provider, what, origin);
  }

  /** Front-channel logout: the provider's name of the session is what authorizes it. */
  async bySession(issuer: string, session: string, origin: Origin): Promise<void> {
    const before = new Date();
    for (const provider of await this.published.withIssuer(issuer))
      await this.end(provider, { session, before }, origin);
  }

  private async end(
    provider: IdentityProvider,
    what: { session?: string | undefined; subject?: string | undefined; before: Date },
    origin: Origin,
  ): Promise<void> {
    const actor: Actor & { origin: Origin } = { kind: 'anonymous', id: provider.id, name: provider.name, origin };
    await this.sessions.endExternal(actor, { providerId: provider.id, ...what });
  }

  /** Returns the providers that the token is for, by issuer and audience, and its claims. */
  private async verified(token = ''): Promise<{ providers: IdentityProvider[]; claims: JWTPayload }> {
    try {
      const meant = await this.published.withIssuer(decodeJwt(token).iss ?? '');
      const judged = await Promise.allSettled(meant.map((provider) => this.claimsOf(provider, token)));
      const providers = meant.filter((_, i) => judged[i]?.status === 'fulfilled');
      const first = judged.find((one) => one.status === 'fulfilled') ?? judged[0];
      if (first === undefined) throw new Error('no provider has this issuer');
      if (first.status === 'rejected') throw first.reason;
      return { providers, claims: first.value };
    } catch (error) {
      this.logger.warn(`a logout token was refused: ${oidcReasonOf(error)}`);
      throw new Problem('malformed', 'sso.logout-token', 'This logout token cannot be trusted.');
    }
  }

  private async claimsOf(provider: IdentityProvider, token: string): Promise<JWTPayload> {
    const { payload, protectedHeader } = await this.published.verified(provider, token, {
      requiredClaims: ['iat', 'jti'],
      maxTokenAge: '5 minutes',
    });
    const events = payload['events'] as Record<string, unknown> | undefined;
    const names = [payload.sub, payload['sid']].filter((name) => name !== undefined);
    if (!TYPES.includes(protectedHeader.typ)) throw new Error('it is a token of another kind');
    if (typeof events?.[EVENT] !== 'object' || 'nonce' in payload) throw new Error('it is no logout token');
    if (names.length === 0 || names.some((name) => typeof name !== 'string' || name === ''))
      throw new Error('it names neither a session nor a person, or not by text');
    return payload;
  }
}
