import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { originOf } from '../../../platform/http/origin.js';
import { Fresh, Person, Public, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { PasswordCheck } from '../../model/password-check.js';
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

  /**
   * Begin passkey registration
   * @remarks Returns the options with which a browser creates a passkey or registers a security key.
   */
  @Post('second-factors/passkeys')
  @HttpCode(200)
  @Person()
  @Fresh()
  async beginPasskey(@TheCaller() caller: Caller): Promise<PasskeyOptionsView> {
    return { publicKey: await this.passkeys.begin(caller) };
  }

  /**
   * Confirm a passkey
   * @remarks Activates the passkey. If the passkey is the first second factor, the response contains recovery codes.
   */
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

  /**
   * Request a passkey challenge
   * @remarks Returns the options with which a browser uses a passkey. Send the browser's response as `passkey` to login, session or step-up. The
   * challenge can be used once.
   */
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
