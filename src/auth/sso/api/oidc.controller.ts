import { Controller, Get, HttpCode, Param, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../../platform/http/origin.js';
import { RawBody, TakesRaw, TheRawBody } from '../../../platform/http/bodies/raw-body.js';
import { Public } from '../../../access/access.js';
import { FORM } from '../../oauth/oauth-parameters.js';
import { SsoCookie } from '../../credentials/callers/cookies.js';
import { OidcLogout } from '../oidc/oidc-logout.js';
import { OidcService } from '../oidc/oidc.service.js';
import { ProviderNameParam } from './identity-provider-views.dto.js';
import { SignInPageFilter } from './sign-in-page.filter.js';
import { assertOpened, SsoLogin } from './sso-login.js';
import { FrontChannelQuery, OidcKeySetView, OidcKeysQuery, SsoLoginQuery } from './sso.dto.js';

/** Maximum length of a logout token request, in bytes. */
const MAX_TOKEN_BYTES = 16 * 1024;

/** The OpenID Connect endpoints for browsers and providers. */
@ApiTags('Authentication')
@Controller('api/auth/oidc')
export class OidcController {
  constructor(
    private readonly cookie: SsoCookie,
    private readonly oidc: OidcService,
    private readonly login: SsoLogin,
    private readonly logout: OidcLogout,
  ) {}

  /**
   * Start OpenID Connect sign-in
   * @remarks Redirects the browser to an OpenID Connect provider.
   */
  @Get('login')
  @Public()
  @UseFilters(SignInPageFilter)
  @ApiResponse({ status: 302 })
  async oidcLogin(
    @Req() request: FastifyRequest,
    @Query() query: SsoLoginQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.login.start(request, reply, query, this.oidc);
  }

  /**
   * Receive an OpenID response (legacy)
   * @remarks Receives the response from a provider that uses the redirect URI of earlier versions.
   */
  @Get('callback')
  @Public()
  @UseFilters(SignInPageFilter)
  @ApiResponse({ status: 303 })
  async oidcCallback(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() answer: object,
  ): Promise<void> {
    await this.finish(request, reply, { answer, address: undefined });
  }

  /**
   * Receive an OpenID response
   * @remarks Receives the response from the OpenID Connect provider with this name.
   */
  @Get('callback/:name')
  @Public()
  @UseFilters(SignInPageFilter)
  @ApiResponse({ status: 303 })
  async oidcProviderCallback(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param() { name }: ProviderNameParam,
    @Query() answer: object,
  ): Promise<void> {
    await this.finish(request, reply, { answer, address: name });
  }

  private async finish(
    request: FastifyRequest,
    reply: FastifyReply,
    { answer, address }: { answer: object; address: string | undefined },
  ): Promise<void> {
    const query = new URLSearchParams(answer as Record<string, string>).toString();
    const place = await this.oidc.finish({ query, address }, this.cookie.of(request), originOf(request));
    await reply.redirect(place, 303);
  }

  /**
   * Get OpenID client keys
   * @remarks Returns the public key with which this service authenticates to the provider (`private_key_jwt`) as a JWK Set. The set is empty if the provider
   * uses another method.
   */
  @Get('jwks')
  @Public()
  getOidcKeys(@Query() { provider }: OidcKeysQuery): Promise<OidcKeySetView> {
    return this.oidc.keySet(provider);
  }

  /**
   * Receive back-channel logout
   * @remarks Ends the sessions that the provider has ended (OpenID Connect Back-Channel Logout).
   */
  @Post('backchannel-logout')
  @HttpCode(200)
  @Public()
  @TakesRaw(MAX_TOKEN_BYTES, [FORM])
  @ApiConsumes(FORM)
  @ApiBody({
    schema: {
      type: 'object',
      properties: { logout_token: { type: 'string', example: 'eyJ0eXAiOiJsb2dvdXQrand0In0.e30.c2ln' } },
      required: ['logout_token'],
    },
  })
  async backChannelLogout(@Req() request: FastifyRequest, @TheRawBody() body: RawBody): Promise<void> {
    const [token, ...others] = new URLSearchParams(body.bytes.toString('utf8')).getAll('logout_token');
    await this.logout.byToken(others.length === 0 ? token : undefined, originOf(request));
  }

  /**
   * Receive front-channel logout
   * @remarks Ends a session that the provider has ended. The provider loads this URL in the browser (OpenID Connect Front-Channel Logout).
   */
  @Get('frontchannel-logout')
  @Public()
  async frontChannelLogout(@Req() request: FastifyRequest, @Query() { iss, sid }: FrontChannelQuery): Promise<void> {
    assertOpened(request, 'iframe');
    await this.logout.bySession(iss, sid, originOf(request));
  }
}
