import { Body, Controller, Get, Header, HttpCode, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { originOf } from '../platform/http/origin.js';
import { Public, SignedIn, TheCaller } from './access.js';
import type { Caller } from './caller.js';
import { SessionsService } from './sessions/sessions.service.js';
import { CallerView, ChangePasswordBody, LoginBody, RefreshBody, RegisterBody, TokenView } from './sign-in.dto.js';
import { SignInService } from './sign-in.service.js';
import { AccountService } from './users/account.service.js';
import { RegistrationService } from './users/registration.service.js';

@ApiTags('Authentication')
@Controller('api/auth')
export class SignInController {
  constructor(
    private readonly signIn: SignInService,
    private readonly registration: RegistrationService,
    private readonly account: AccountService,
    private readonly sessions: SessionsService,
  ) {}

  /** Makes an account and signs in. Open in the dev profile only. */
  @Post('register')
  @Public()
  @Header('cache-control', 'no-store')
  async register(@Req() request: FastifyRequest, @Body() { email, password }: RegisterBody): Promise<TokenView> {
    const user = await this.registration.register(email, password, originOf(request));
    return TokenView.of(await this.signIn.registered(user, originOf(request)));
  }

  /** Exchanges an e-mail address and a password for an access token. */
  @Post('login')
  @HttpCode(200)
  @Public()
  @Header('cache-control', 'no-store')
  async login(@Req() request: FastifyRequest, @Body() body: LoginBody): Promise<TokenView> {
    return TokenView.of(await this.signIn.withPassword(body.email, body.password, originOf(request)));
  }

  /** Exchanges a refresh token for new tokens. It works once; a second use ends the session. */
  @Post('refresh')
  @HttpCode(200)
  @Public()
  @Header('cache-control', 'no-store')
  async refresh(@Req() request: FastifyRequest, @Body() body: RefreshBody): Promise<TokenView> {
    return TokenView.of(await this.signIn.refresh(body.refresh_token, originOf(request)));
  }

  /** Ends the session of this access token, with its refresh tokens. */
  @Post('logout')
  @HttpCode(204)
  @SignedIn()
  async logout(@TheCaller() caller: Caller): Promise<void> {
    await this.sessions.endOwn(caller);
  }

  /** Sets another password, and ends your other sessions. */
  @Post('password')
  @HttpCode(204)
  @SignedIn()
  async changePassword(@TheCaller() caller: Caller, @Body() body: ChangePasswordBody): Promise<void> {
    await this.account.changePassword(caller, body.currentPassword, body.password);
  }

  /** Tells who you are and what you may do. */
  @Get('me')
  @SignedIn()
  me(@TheCaller() caller: Caller): CallerView {
    return CallerView.of(caller);
  }
}
