import { Body, Controller, Get, Header, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../platform/http/origin.js';
import { Public } from '../../access/access.js';
import { TokenView } from '../sign-in/sign-in.dto.js';
import { BrowserCookie } from './browser-cookie.js';
import { IdentityProvidersService } from './identity-providers.service.js';
import { SsoChoices, CompleteQuery, TicketBody } from './sso.dto.js';
import { SsoTickets } from './sso-tickets.js';

/** Single sign-on before and after the provider. */
@ApiTags('Authentication')
@Controller('api/auth')
export class SsoController {
  constructor(
    private readonly cookie: BrowserCookie,
    private readonly tickets: SsoTickets,
    private readonly providers: IdentityProvidersService,
  ) {}

  /** Lists the ways to sign in elsewhere. */
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

  /** Exchanges the ticket for tokens, in the browser that began. */
  @Post('sso/tokens')
  @HttpCode(200)
  @Public()
  @Header('cache-control', 'no-store')
  async exchangeTicket(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { ticket }: TicketBody,
  ): Promise<TokenView> {
    const tokens = await this.tickets.tokens(ticket, this.cookie.of(request), originOf(request));
    void reply.header('set-cookie', this.cookie.gone());
    return TokenView.of(tokens);
  }

  /** Exchanges the ticket for a session in a cookie, and leads the browser to where it wanted to go. */
  @Get('sso/complete')
  @Public()
  @ApiResponse({ status: 303 })
  async completeSignIn(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() { ticket }: CompleteQuery,
  ): Promise<void> {
    const { cookie, returnTo } = await this.tickets.session(ticket, this.cookie.of(request), originOf(request));
    await reply
      .header('set-cookie', [this.cookie.gone(), ...(cookie === undefined ? [] : [cookie])])
      .header('cache-control', 'no-store')
      .redirect(returnTo, 303);
  }
}
