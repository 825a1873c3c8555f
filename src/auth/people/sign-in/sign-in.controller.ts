import { Body, Controller, Get, HttpCode, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { originOf } from '../../../platform/http/origin.js';
import { Person, Public, SignedIn, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import {
  CallerView,
  ChangePasswordBody,
  ForgotPasswordBody,
  LoginBody,
  RefreshBody,
  RegisterBody,
  ResetPasswordBody,
  TokenView,
} from './sign-in.dto.js';
import { SignInService } from './sign-in.service.js';
import { AccountService } from '../users/account.service.js';
import { RegistrationService } from '../users/registration.service.js';

@ApiTags('Authentication')
@Controller('api/auth')
export class SignInController {
  constructor(
    private readonly signIn: SignInService,
    private readonly registration: RegistrationService,
    private readonly account: AccountService,
  ) {}

  /**
   * Register an account
   * @remarks Creates an account and signs in. Requires an invitation, except in the `dev` profile.
   */
  @Post('register')
  @Public()
  async register(@Req() request: FastifyRequest, @Body() body: RegisterBody): Promise<TokenView> {
    const user = await this.registration.register(body.toNewcomer(), originOf(request));
    return TokenView.of(await this.signIn.registered(user, originOf(request)));
  }

  /**
   * Log in
   * @remarks Returns an access token and a refresh token for an email address and a password.
   */
  @Post('login')
  @HttpCode(200)
  @Public()
  async login(@Req() request: FastifyRequest, @Body() body: LoginBody): Promise<TokenView> {
    return TokenView.of(await this.signIn.withPassword(body.email, body.password, body, originOf(request)));
  }

  /**
   * Refresh tokens
   * @remarks Returns new tokens for a refresh token. A refresh token can be used once; a second use ends the session.
   */
  @Post('refresh')
  @HttpCode(200)
  @Public()
  async refresh(@Req() request: FastifyRequest, @Body() body: RefreshBody): Promise<TokenView> {
    return TokenView.of(await this.signIn.refresh(body.refresh_token, originOf(request)));
  }

  /**
   * Change your password
   * @remarks Sets a new password and ends your other sessions.
   */
  @Post('password')
  @HttpCode(204)
  @Person()
  async changePassword(@TheCaller() caller: Caller, @Body() body: ChangePasswordBody): Promise<void> {
    await this.account.changePassword(caller, body.currentPassword, body.password);
  }

  /**
   * Request a password reset
   * @remarks Sends a link to set a new password if the account exists. The response does not reveal whether the account exists.
   */
  @Post('password/forgot')
  @HttpCode(202)
  @Public()
  async forgotPassword(@Req() request: FastifyRequest, @Body() body: ForgotPasswordBody): Promise<void> {
    await this.account.forgotPassword(body.email, originOf(request));
  }

  /**
   * Reset a password
   * @remarks Sets the password of the account to which the link was sent, and ends all sessions of the account.
   */
  @Post('password/reset')
  @HttpCode(204)
  @Public()
  async resetPassword(@Req() request: FastifyRequest, @Body() body: ResetPasswordBody): Promise<void> {
    await this.account.resetPassword(body.token, body.password, originOf(request));
  }

  /**
   * Get the current caller
   * @remarks Returns your identity and permissions.
   */
  @Get('me')
  @SignedIn()
  me(@TheCaller() caller: Caller): CallerView {
    return CallerView.of(caller);
  }
}
