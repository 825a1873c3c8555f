import { Controller, Get, Header, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../../platform/http/origin.js';
import { RawBody, TakesRaw, TheRawBody } from '../../../platform/http/bodies/raw-body.js';
import { Public } from '../../../access/access.js';
import { FORM } from '../../oauth/oauth-parameters.js';
import { fromForm, fromRedirect } from '../saml/saml-logout-message.js';
import { SamlLogout } from '../saml/saml-logout.js';
import { SamlService } from '../saml/saml.service.js';
import { SsoBeginnings } from '../sign-in/sso-transactions.js';
import { SignInPageFilter } from './sign-in-page.filter.js';
import { assertOpened, SsoLogin } from './sso-login.js';
import { SamlLogoutQuery, SamlMetadataQuery, SsoLoginQuery } from './sso.dto.js';

/** Maximum length of a posted message, in bytes. Responses with hundreds of groups are long. */
const MAX_MESSAGE_BYTES = 256 * 1024;

/** The SAML 2.0 endpoints for browsers and identity providers. */
@ApiTags('Authentication')
@Controller('api/auth/saml')
export class SamlController {
  constructor(
    private readonly login: SsoLogin,
    private readonly saml: SamlService,
    private readonly beginnings: SsoBeginnings,
    private readonly logout: SamlLogout,
  ) {}

  /**
   * Start SAML sign-in
   * @remarks Redirects the browser to a SAML 2.0 provider.
   */
  @Get('login')
  @Public()
  @UseFilters(SignInPageFilter)
  @ApiResponse({ status: 302 })
  async samlLogin(
    @Req() request: FastifyRequest,
    @Query() query: SsoLoginQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.login.start(request, reply, query, this.saml);
  }

  /**
   * Receive a SAML response
   * @remarks Receives the response from a SAML 2.0 provider (assertion consumer service).
   */
  @Post('callback')
  @Public()
  @UseFilters(SignInPageFilter)
  @TakesRaw(MAX_MESSAGE_BYTES, [FORM])
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({
    schema: {
      type: 'object',
      properties: { SAMLResponse: { type: 'string', example: 'PHNhbWxwOlJlc3BvbnNl' } },
      required: ['SAMLResponse'],
    },
  })
  @ApiResponse({ status: 303 })
  async samlCallback(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @TheRawBody() body: RawBody,
  ): Promise<void> {
    assertOpened(request);
    await this.beginnings.assertMayAnswer(originOf(request));
    const values = new URLSearchParams(body.bytes.toString('utf8')).getAll('SAMLResponse');
    const place = await this.saml.finish(values.length === 1 ? values[0] : undefined, originOf(request));
    await this.beginnings.answered(originOf(request));
    await reply.redirect(place, 303);
  }

  /**
   * Receive a SAML logout message
   * @remarks Receives logout requests and responses from a SAML 2.0 provider (single logout service, HTTP-Redirect binding).
   */
  @Get('logout')
  @Public()
  @UseFilters(SignInPageFilter)
  @ApiResponse({ status: 303 })
  async samlLogout(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() _message: SamlLogoutQuery,
  ): Promise<void> {
    assertOpened(request, 'iframe');
    await this.beginnings.assertMayAnswer(originOf(request));
    // The signature covers the query string as received.
    const query = request.url.slice(request.url.indexOf('?') + 1);
    const place = await this.logout.take(fromRedirect(query), originOf(request));
    await reply.redirect(place, 303);
  }

  /**
   * Receive a posted SAML logout
   * @remarks Receives logout requests and responses from a SAML 2.0 provider as a form (HTTP-POST binding).
   */
  @Post('logout')
  @Public()
  @UseFilters(SignInPageFilter)
  @TakesRaw(MAX_MESSAGE_BYTES, [FORM])
  @ApiConsumes(FORM)
  @ApiBody({
    schema: {
      type: 'object',
      properties: {
        SAMLRequest: { type: 'string', example: 'PHNhbWxwOkxvZ291dFJlcXVlc3Q+' },
        SAMLResponse: { type: 'string', example: 'PHNhbWxwOkxvZ291dFJlc3BvbnNlPg==' },
        RelayState: { type: 'string', example: '_6f5e' },
      },
    },
  })
  @ApiResponse({ status: 303 })
  async samlPostedLogout(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @TheRawBody() body: RawBody,
  ): Promise<void> {
    assertOpened(request, 'iframe');
    await this.beginnings.assertMayAnswer(originOf(request));
    const message = fromForm(new URLSearchParams(body.bytes.toString('utf8')));
    await reply.redirect(await this.logout.take(message, originOf(request)), 303);
  }

  /**
   * Get SAML metadata
   * @remarks Returns this service's service provider metadata for a SAML 2.0 identity provider.
   */
  @Get('metadata')
  @Public()
  @Header('content-type', 'application/samlmetadata+xml')
  @ApiOkResponse({
    content: { 'application/samlmetadata+xml': { schema: { type: 'string', example: '<EntityDescriptor/>' } } },
  })
  getSamlMetadata(@Query() { provider }: SamlMetadataQuery): Promise<string> {
    return this.saml.metadata(provider);
  }
}
