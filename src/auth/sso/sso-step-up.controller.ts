import { Body, Controller, Header, HttpCode, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Person, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { BrowserCookie } from './browser-cookie.js';
import { SsoStepUp } from './sso-step-up.js';
import { SsoStepUpBody, SsoStepUpView } from './sso.dto.js';

@ApiTags('Authentication')
@Controller('api/auth/step-up')
export class SsoStepUpController {
  constructor(
    private readonly cookie: BrowserCookie,
    private readonly stepUps: SsoStepUp,
  ) {}

  /** Begins a step-up at the identity provider that you came by: lead the browser to where it says. It comes back to `returnTo`. */
  @Post('sso')
  @HttpCode(200)
  @Person()
  @Header('cache-control', 'no-store')
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
