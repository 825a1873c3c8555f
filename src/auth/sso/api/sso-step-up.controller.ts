import { Body, Controller, HttpCode, Post, Res, Injectable } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Person, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { SsoCookie, type Redirect } from '../../credentials/callers/cookies.js';
import { SsoStepUpBody, SsoStepUpView } from './sso.dto.js';
import { Problem } from '../../../platform/errors/problem.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { OidcService } from '../oidc/oidc.service.js';
import { SamlService } from '../saml/saml.service.js';
import type { SsoOrder } from '../sign-in/sso-transactions.js';

/** SsoStepUp starts the step-up of a person who signed in through an identity provider, which authenticates the person again. */
@Injectable()
export class SsoStepUp {
  constructor(
    private readonly sessions: SessionsService,
    private readonly providers: IdentityProvidersService,
    private readonly oidc: OidcService,
    private readonly saml: SamlService,
  ) {}

  /** Returns the URL to which to redirect the browser. */
  async begin(caller: Caller, returnTo: string | undefined): Promise<Redirect> {
    const external = await this.sessions.externalOf(caller);
    if (external === undefined) {
      throw new Problem(
        'refused',
        'sso.no-provider',
        'You are not signed in through an identity provider. Use POST /api/auth/step-up.',
      );
    }
    const { kind, name: provider } = await this.providers.enabledById(external.providerId);
    const order: SsoOrder = { provider, returnTo, answer: 'cookie', stepUp: caller.session?.id };
    return kind === 'oidc' ? this.oidc.begin(order) : this.saml.begin(order);
  }
}

@ApiTags('Authentication')
@Controller('api/auth/step-up')
export class SsoStepUpController {
  constructor(
    private readonly cookie: SsoCookie,
    private readonly stepUps: SsoStepUp,
  ) {}

  /**
   * Start step-up at the provider
   * @remarks Starts a step-up at the identity provider of your session. Redirect the browser to the returned URL. The browser returns to `returnTo`.
   */
  @Post('sso')
  @HttpCode(200)
  @Person()
  async stepUpAtProvider(
    @TheCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { returnTo }: SsoStepUpBody,
  ): Promise<SsoStepUpView> {
    const { url, browser } = await this.stepUps.begin(caller, returnTo);
    void reply.header('set-cookie', this.cookie.with(browser));
    return { redirect: url };
  }
}
