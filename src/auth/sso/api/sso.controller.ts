import { Body, Controller, Get, HttpCode, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../../platform/http/origin.js';
import { Public, Person, TheCaller } from '../../../access/access.js';
import { TokenView } from '../../people/sign-in/sign-in.dto.js';
import { SsoCookie, SessionCookie } from '../../credentials/callers/cookies.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { SsoChoices, CompleteQuery, TicketBody, SignOutView } from './sso.dto.js';
import { SignInPageFilter } from './sign-in-page.filter.js';
import { SsoTickets } from './sso-tickets.js';
import type { Caller } from '../../../access/caller.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { OidcLogout } from '../oidc/oidc-logout.js';
import { SamlLogout } from '../saml/saml-logout.js';

/** The single sign-on endpoints that do not depend on the protocol. */
@ApiTags('Authentication')
@Controller('api/auth')
export class SsoController {
  constructor(
    private readonly cookie: SsoCookie,
    private readonly tickets: SsoTickets,
    private readonly providers: IdentityProvidersService,
  ) {}

  /**
   * List sign-in options
   * @remarks Returns the identity providers at which users can sign in.
   */
  @Get('providers')
  @Public()
  async listSignInChoices(): Promise<SsoChoices> {
    const enabled = (await this.providers.list()).filter((provider) => provider.enabled);
    return {
      items: enabled.map(({ name, kind, label }) => ({
        name,
        kind,
        label,
        login: `/api/auth/${kind}/login?provider=${name}`,
      })),
    };
  }

  /**
   * Exchange a sign-in ticket
   * @remarks Returns tokens for the ticket of a completed sign-in, in the browser that started the sign-in.
   */
  @Post('sso/tokens')
  @HttpCode(200)
  @Public()
  async exchangeTicket(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { ticket }: TicketBody,
  ): Promise<TokenView> {
    const tokens = await this.tickets.tokens(ticket, this.cookie.of(request), originOf(request));
    void reply.header('set-cookie', this.cookie.gone());
    return TokenView.of(tokens);
  }

  /**
   * Complete a sign-in
   * @remarks Completes a sign-in in the browser that started it: opens a session in a cookie, or adds the ticket to the fragment, and redirects to the page
   * in `returnTo`.
   */
  @Get('sso/complete')
  @Public()
  @UseFilters(SignInPageFilter)
  @ApiResponse({ status: 303 })
  async completeSignIn(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() { ticket }: CompleteQuery,
  ): Promise<void> {
    const { cookie, url } = await this.tickets.complete(ticket, this.cookie.of(request), originOf(request));
    if (!url.includes('#')) void reply.header('set-cookie', this.cookie.gone());
    if (cookie !== undefined) void reply.header('set-cookie', cookie);
    await reply.redirect(url, 303);
  }
}

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

  /**
   * Sign out
   * @remarks Ends your session, and returns the URL at which to sign out at your identity provider.
   */
  @Post('logout')
  @HttpCode(200)
  @Person()
  async signOut(@TheCaller() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply): Promise<SignOutView> {
    const external = await this.sessions.externalOf(caller);
    await this.sessions.endOwn(caller);
    if (caller.session?.inBrowser === true) void reply.header('set-cookie', this.cookie.gone());
    if (external?.logoutHint === undefined) return { redirect: null };
    const provider = await this.providers.enabledById(external.providerId);
    const logout = provider.kind === 'oidc' ? this.oidc : this.saml;
    // The session in this service has already ended, even if the provider is unavailable.
    return { redirect: (await logout.redirectTo(provider, external.logoutHint).catch(() => undefined)) ?? null };
  }
}
