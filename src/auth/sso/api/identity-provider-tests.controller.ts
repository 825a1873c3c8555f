import { Body, Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { SsoCookie } from '../../browser/cookies.js';
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

/** Tests of identity providers. No test signs anybody in or changes an account. */
@ApiTags('Settings')
@Controller('api/settings/identity-providers')
export class IdentityProviderTestsController {
  constructor(
    private readonly check: IdentityProviderCheck,
    private readonly tests: SsoTests,
    private readonly cookie: SsoCookie,
  ) {}

  /** Validates the configuration of a provider: what it publishes, its keys, its certificates. Nobody signs in for it. */
  @Post('test/:name')
  @HttpCode(200)
  @Needs('settings:write')
  async testIdentityProvider(@Param() { name }: ProviderNameParam): Promise<IdentityProviderTestView> {
    return IdentityProviderTestView.of(await this.check.of(name));
  }

  /**
   * Starts a test sign-in, also at a disabled provider: send the browser to `redirect`. It returns to `returnTo#test=<ticket>`.
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

  /** Returns the result of a test sign-in, once, in the browser that began it: claims, matched rules, roles and groups. */
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
