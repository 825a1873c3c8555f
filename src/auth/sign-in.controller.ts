import { Body, Controller, Get, Header, HttpCode, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { originOf } from '../platform/http/origin.js';
import { Public, SignedIn, TheCaller } from './access.js';
import type { Caller } from './caller.js';
import { CallerView, LoginBody, TokenView } from './sign-in.dto.js';
import { SignInService } from './sign-in.service.js';

@ApiTags('Authentication')
@Controller('api/auth')
export class SignInController {
  constructor(private readonly signIn: SignInService) {}

  /** Exchanges an e-mail address and a password for an access token. */
  @Post('login')
  @HttpCode(200)
  @Public()
  @Header('cache-control', 'no-store')
  async login(@Req() request: FastifyRequest, @Body() body: LoginBody): Promise<TokenView> {
    const { token, expiresIn } = await this.signIn.withPassword(body.email, body.password, originOf(request));
    return { access_token: token, token_type: 'Bearer', expires_in: expiresIn };
  }

  /** Tells who you are and what you may do. */
  @Get('me')
  @SignedIn()
  me(@TheCaller() caller: Caller): CallerView {
    return CallerView.of(caller);
  }
}
