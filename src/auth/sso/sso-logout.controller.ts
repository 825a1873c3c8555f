import { Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Person, TheCaller } from '../../access/access.js';
import { SessionCookie } from '../browser/session-cookie.js';
import type { Caller } from '../../access/caller.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { IdentityProvidersService } from './identity-providers.service.js';
import { OidcLogout } from './oidc-logout.js';
import { SamlLogout } from './saml-logout.js';
import { SignOutView } from './sso.dto.js';

@ApiTags('Authentication')
@Controller('api/auth/sso')
export class SsoLogoutController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly providers: IdentityProvidersService,
    private readonly oidc: OidcLogout,
    private readonly saml: SamlLogout,
    private readonly cookie: SessionCookie,
  ) {}

  /** Ends your session, and tells where to sign out at the provider that you came by. */
  @Post('logout')
  @HttpCode(200)
  @Person()
  async signOut(@TheCaller() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply): Promise<SignOutView> {
    const external = await this.sessions.externalOf(caller);
    await this.sessions.endOwn(caller);
    if (caller.session?.inBrowser === true) void reply.header('set-cookie', this.cookie.gone());
    if (external?.logoutHint === undefined) return { redirect: null };
    const provider = await this.providers.enabledById(external.providerId);
    const there = provider.kind === 'oidc' ? this.oidc : this.saml;
    // The session is over here in any case, also when the provider is away.
    return { redirect: (await there.placeAt(provider, external.logoutHint).catch(() => undefined)) ?? null };
  }
}
