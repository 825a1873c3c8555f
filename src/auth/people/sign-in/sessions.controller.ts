import { Body, Controller, HttpCode, Post, Req, Res, Delete, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../../platform/http/origin.js';
import { PersonOrDevice, Public, SignedIn, TheCaller, Person } from '../../../access/access.js';
import { BrowserSessions } from '../../credentials/callers/browser-sessions.js';
import { CsrfProtection, SessionCookie } from '../../credentials/callers/cookies.js';
import type { Caller } from '../../../access/caller.js';
import { CallerView, LoginBody, StepUpBody } from './sign-in.dto.js';
import { SignInService } from './sign-in.service.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { IdParam } from '../../../platform/http/id-param.js';
import { SessionList } from '../../credentials/sessions/sessions.dto.js';

/** CurrentSessionController opens browser sessions, and ends or steps up the caller's session. */
@ApiTags('Authentication')
@Controller('api/auth')
export class CurrentSessionController {
  constructor(
    private readonly signIn: SignInService,
    private readonly sessions: SessionsService,
    private readonly browsers: BrowserSessions,
    private readonly cookie: SessionCookie,
    private readonly csrf: CsrfProtection,
  ) {}

  /**
   * Open a browser session
   * @remarks Signs a browser in like `login`, but sets a cookie instead of returning tokens. Requires the `X-CSRF-Protection: 1` header.
   */
  @Post('session')
  @Public()
  async openSession(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: LoginBody,
  ): Promise<CallerView> {
    this.csrf.assertSameOrigin(request);
    const origin = originOf(request);
    const person = await this.signIn.personWith(body.email, body.password, body, origin);
    const secret = await this.browsers.open(person, origin);
    void reply.header('set-cookie', this.cookie.with(secret));
    return CallerView.of(await this.browsers.callerOf(secret, origin));
  }

  /**
   * Log out
   * @remarks Ends the session of the access token and revokes its refresh tokens, or ends the browser session.
   */
  @Post('logout')
  @HttpCode(204)
  @SignedIn()
  async logout(@TheCaller() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.sessions.endOwn(caller);
    if (caller.session?.inBrowser === true) void reply.header('set-cookie', this.cookie.gone());
  }

  /**
   * Step up a session
   * @remarks Verifies the user's identity again. Sensitive operations require a step-up within the last five minutes. In an OAuth client's session, only a
   * step-up in that session counts.
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

@ApiTags('Authentication')
@Controller('api/auth/sessions')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  /**
   * List your sessions
   * @remarks Returns your sessions, newest first.
   */
  @Get()
  @Person()
  async listSessions(@TheCaller() caller: Caller): Promise<SessionList> {
    return SessionList.of(await this.sessions.listOf(caller.id), caller.session?.id);
  }

  /**
   * End a session
   * @remarks Ends one of your sessions. Every process rejects the session within five seconds.
   */
  @Delete(':id')
  @HttpCode(204)
  @Person()
  async endSession(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.sessions.end(caller, caller.id, id, 'ended');
  }

  /**
   * End your other sessions
   * @remarks Ends all your sessions except the current session.
   */
  @Delete()
  @HttpCode(204)
  @Person()
  async endOtherSessions(@TheCaller() caller: Caller): Promise<void> {
    await this.sessions.endAllOf(caller, caller.id, 'ended', caller.session?.id);
  }
}
