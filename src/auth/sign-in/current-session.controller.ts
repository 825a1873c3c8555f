import { Body, Controller, Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../platform/http/origin.js';
import { PersonOrDevice, Public, SignedIn, TheCaller } from '../../access/access.js';
import { BrowserSessions } from '../browser/browser-sessions.js';
import { OwnPages } from '../browser/own-pages.js';
import { SessionCookie } from '../browser/session-cookie.js';
import type { Caller } from '../../access/caller.js';
import { CallerView, LoginBody, StepUpBody } from './sign-in.dto.js';
import { SignInService } from './sign-in.service.js';
import { SessionsService } from '../sessions/sessions.service.js';

/** The session that a call belongs to; a browser's lives in a cookie. */
@ApiTags('Authentication')
@Controller('api/auth')
export class CurrentSessionController {
  constructor(
    private readonly signIn: SignInService,
    private readonly sessions: SessionsService,
    private readonly browsers: BrowserSessions,
    private readonly cookie: SessionCookie,
    private readonly pages: OwnPages,
  ) {}

  /** Signs a browser in: as login does, with a cookie instead of tokens. Needs the header `X-CSRF-Protection: 1`. */
  @Post('session')
  @Public()
  @Header('cache-control', 'no-store')
  async openSession(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: LoginBody,
  ): Promise<CallerView> {
    this.pages.assertAsked(request);
    const origin = originOf(request);
    const person = await this.signIn.personWith(body.email, body.password, body, origin);
    const secret = await this.browsers.open(person, origin);
    void reply.header('set-cookie', this.cookie.with(secret));
    return CallerView.of(await this.browsers.callerOf(secret, origin));
  }

  /** Ends the session of this access token, with its refresh tokens, or of this browser. */
  @Post('logout')
  @HttpCode(204)
  @SignedIn()
  async logout(@TheCaller() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.sessions.endOwn(caller);
    if (caller.session?.inBrowser === true) void reply.header('set-cookie', this.cookie.gone());
  }

  /**
   * Shows once more who you are. What matters asks for it five minutes after sign-in, and always where a client holds your session.
   */
  @Post('step-up')
  @HttpCode(204)
  @PersonOrDevice()
  async stepUp(
    @TheCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: StepUpBody,
  ): Promise<void> {
    await this.signIn.stepUp(caller, body.password, body);
    const secret = await this.browsers.renew(caller.session?.id ?? '');
    if (secret !== undefined) void reply.header('set-cookie', this.cookie.with(secret));
  }
}
