import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../../platform/http/id-param.js';
import { Fresh, Person, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import {
  BeginTotpBody,
  ConfirmTotpBody,
  NewTotpView,
  RecoveryCodesView,
  SecondFactorList,
} from './second-factors.dto.js';
import { SecondFactorsService } from './second-factors.service.js';

@ApiTags('Authentication')
@Controller('api/auth')
export class SecondFactorsController {
  constructor(private readonly factors: SecondFactorsService) {}

  /**
   * List second factors
   * @remarks Returns your authenticator apps and passkeys.
   */
  @Get('second-factors')
  @Person()
  async listSecondFactors(@TheCaller() caller: Caller): Promise<SecondFactorList> {
    return SecondFactorList.of(await this.factors.listOf(caller.id));
  }

  /**
   * Begin authenticator app enrolment
   * @remarks Returns a secret for an authenticator app. The app becomes active when you confirm the app with a code.
   */
  @Post('second-factors/totp')
  @Person()
  @Fresh()
  async beginTotp(@TheCaller() caller: Caller, @Body() body: BeginTotpBody): Promise<NewTotpView> {
    return this.factors.begin(caller, body.name);
  }

  /**
   * Confirm an authenticator app
   * @remarks Activates the authenticator app. If the app is the first second factor, the response contains recovery codes.
   */
  @Post('second-factors/totp/:id/confirm')
  @HttpCode(200)
  @Person()
  @Fresh()
  async confirmTotp(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ConfirmTotpBody,
  ): Promise<RecoveryCodesView> {
    return { recoveryCodes: await this.factors.confirm(caller, id, body.code) };
  }

  /**
   * Remove a second factor
   * @remarks Removes an authenticator app or a passkey from your account.
   */
  @Delete('second-factors/:id')
  @HttpCode(204)
  @Person()
  @Fresh()
  async removeSecondFactor(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.factors.remove(caller, id);
  }

  /**
   * Replace recovery codes
   * @remarks Returns new recovery codes. The previous codes are invalidated.
   */
  @Post('recovery-codes')
  @Person()
  @Fresh()
  async replaceRecoveryCodes(@TheCaller() caller: Caller): Promise<RecoveryCodesView> {
    return { recoveryCodes: await this.factors.newRecoveryCodes(caller) };
  }
}
