import { Body, Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { SsoCookie } from '../../credentials/callers/cookies.js';
import { IdentityProviderCheck } from './identity-provider-check.js';
import {
  IdentityProviderTestView,
  ProviderNameParam,
  SignInTrialView,
  StartTestBody,
  TestStartedView,
  TestTicketBody,
} from './identity-provider-views.dto.js';
import { SsoTests } from './sso-tests.js';

/** Tests of identity providers. No test signs a user in or changes an account. */
@ApiTags('Settings')
@Controller('api/settings/identity-providers')
export class IdentityProviderTestsController {
  constructor(
    private readonly check: IdentityProviderCheck,
    private readonly tests: SsoTests,
    private readonly cookie: SsoCookie,
  ) {}

  /**
   * Test an identity provider
   * @remarks Validates the configuration of a provider: its published metadata, keys and certificates. No user signs in.
   */
  @Post('test/:name')
  @HttpCode(200)
  @Needs('settings:write')
  async testIdentityProvider(@Param() { name }: ProviderNameParam): Promise<IdentityProviderTestView> {
    return IdentityProviderTestView.of(await this.check.of(name));
  }

  /**
   * Start a test sign-in
   * @remarks Starts a sign-in at a provider, including a disabled one, without changing your session. Redirect the browser to `redirect`. The browser returns
   * to `returnTo#test=<ticket>`.
   */
  @Post('test/:name/sign-in')
  @HttpCode(200)
  @Needs('settings:write')
  async startTestSignIn(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() { returnTo }: StartTestBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TestStartedView> {
    const { url, browser } = await this.tests.begin(caller, name, returnTo);
    void reply.header('set-cookie', this.cookie.with(browser));
    return { redirect: url };
  }

  /**
   * Get a test sign-in result
   * @remarks Returns the claims, matched rules, roles and groups of a test sign-in.
   * Only the browser that started the sign-in can retrieve the result, and only once.
   */
  @Post('test-results')
  @HttpCode(200)
  @Needs('settings:write')
  async readTestSignIn(
    @TheCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Body() { ticket }: TestTicketBody,
  ): Promise<SignInTrialView> {
    return SignInTrialView.of(await this.tests.resultOf(caller, ticket, this.cookie.of(request)));
  }
}
