import { Body, Controller, Get, Header, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../platform/http/origin.js';
import { RawBody, TakesRaw, TheRawBody } from '../../platform/http/raw-body.js';
import { Public } from '../access.js';
import { FORM } from '../oauth/oauth-parameters.js';
import { TokenView } from '../sign-in.dto.js';
import { BrowserCookie } from './browser-cookie.js';
import { IdentityProvidersService } from './identity-providers.service.js';
import { OidcService, type Redirect } from './oidc.service.js';
import { SamlService } from './saml.service.js';
import { SsoSignInService } from './sso-sign-in.service.js';
import { SamlMetadataQuery, SsoChoices, SsoLoginQuery, TicketBody } from './sso.dto.js';

/** Bytes of a posted response; providers with hundreds of groups write long ones. */
const LONGEST = 256 * 1024;

@ApiTags('Authentication')
@Controller('api/auth')
export class SsoController {
  constructor(
    private readonly cookie: BrowserCookie,
    private readonly oidc: OidcService,
    private readonly saml: SamlService,
    private readonly signIn: SsoSignInService,
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

  /** Sends the browser to an OpenID Connect provider. */
  @Get('oidc/login')
  @Public()
  @ApiResponse({ status: 302 })
  async oidcLogin(@Query() { provider, returnTo }: SsoLoginQuery, @Res() reply: FastifyReply): Promise<void> {
    await this.leave(reply, await this.oidc.begin(provider, returnTo));
  }

  /** Takes the answer of an OpenID Connect provider. */
  @Get('oidc/callback')
  @Public()
  @ApiResponse({ status: 303 })
  async oidcCallback(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() answer: object,
  ): Promise<void> {
    const query = new URLSearchParams(answer as Record<string, string>).toString();
    const place = await this.oidc.finish(query, this.cookie.of(request), originOf(request));
    await reply.header('cache-control', 'no-store').redirect(place, 303);
  }

  /** Sends the browser to a SAML 2.0 provider. */
  @Get('saml/login')
  @Public()
  @ApiResponse({ status: 302 })
  async samlLogin(@Query() { provider, returnTo }: SsoLoginQuery, @Res() reply: FastifyReply): Promise<void> {
    await this.leave(reply, await this.saml.begin(provider, returnTo));
  }

  /** Takes the answer of a SAML 2.0 provider: the assertion consumer service. */
  @Post('saml/callback')
  @Public()
  @TakesRaw(LONGEST, [FORM])
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({ schema: { type: 'object', properties: { SAMLResponse: { type: 'string' } }, required: ['SAMLResponse'] } })
  @ApiResponse({ status: 303 })
  async samlCallback(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @TheRawBody() body: RawBody,
  ): Promise<void> {
    const values = new URLSearchParams(body.bytes.toString('utf8')).getAll('SAMLResponse');
    const place = await this.saml.finish(values.length === 1 ? values[0] : undefined, originOf(request));
    await reply.header('cache-control', 'no-store').redirect(place, 303);
  }

  /** Describes this service to a SAML 2.0 provider. */
  @Get('saml/metadata')
  @Public()
  @Header('content-type', 'application/samlmetadata+xml')
  getSamlMetadata(@Query() { provider }: SamlMetadataQuery): Promise<string> {
    return this.saml.metadata(provider);
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
    const tokens = await this.signIn.tokens(ticket, this.cookie.of(request), originOf(request));
    void reply.header('set-cookie', this.cookie.gone());
    return TokenView.of(tokens);
  }

  private async leave(reply: FastifyReply, { url, browser }: Redirect): Promise<void> {
    await reply.header('set-cookie', this.cookie.with(browser)).header('cache-control', 'no-store').redirect(url, 302);
  }
}
