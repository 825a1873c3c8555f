import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { originOf } from '../../platform/http/origin.js';
import { Fresh, Person, Public, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { PasswordCheck } from '../passwords/password-check.js';
import { ConfirmPasskeyBody, PasskeyChallengeBody, PasskeyOptionsView } from './passkeys.dto.js';
import { PasskeysService } from './passkeys.service.js';
import { RecoveryCodesView } from './second-factors.dto.js';

@ApiTags('Authentication')
@Controller('api/auth')
export class PasskeysController {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly passwords: PasswordCheck,
  ) {}

  /** Gives what the browser needs to make a passkey or to enrol a security key. */
  @Post('second-factors/passkeys')
  @HttpCode(200)
  @Person()
  @Fresh()
  async beginPasskey(@TheCaller() caller: Caller): Promise<PasskeyOptionsView> {
    return { publicKey: await this.passkeys.begin(caller) };
  }

  /** Makes the passkey count from now on. With the first factor come recovery codes. */
  @Post('second-factors/passkeys/confirm')
  @HttpCode(200)
  @Person()
  @Fresh()
  async confirmPasskey(
    @TheCaller() caller: Caller,
    @Body() { name, credential }: ConfirmPasskeyBody,
  ): Promise<RecoveryCodesView> {
    return { recoveryCodes: await this.passkeys.confirm(caller, name, credential) };
  }

  /** Gives what the browser needs to ask a passkey. Its answer goes as `passkey` into login, session or step-up, once. */
  @Post('passkey-challenge')
  @HttpCode(200)
  @Public()
  async challengePasskey(
    @Req() request: FastifyRequest,
    @Body() { email, password }: PasskeyChallengeBody,
  ): Promise<PasskeyOptionsView> {
    const user = await this.passwords.userWith(email, password, originOf(request));
    return { publicKey: await this.passkeys.ask(user.id) };
  }
}
