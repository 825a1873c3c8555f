import { Body, Controller, Delete, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { SigningKeyDestructionService } from './signing-key-destruction.service.js';
import { DestroySigningKeyBody, SigningKeyView } from './signing-keys.dto.js';

@ApiTags('Signing keys')
@Controller('api/v1/signing-keys/:id/destruction')
export class SigningKeyDestructionController {
  constructor(private readonly destructions: SigningKeyDestructionService) {}

  /** Stops a signing key at once, and has its private keys destroyed after a waiting time. */
  @Post()
  @HttpCode(200)
  @Needs('admin:*')
  @Fresh()
  async scheduleDestruction(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { days = 30 }: DestroySigningKeyBody,
  ): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.destructions.schedule(caller, id, days));
  }

  /** Calls a destruction off that is not due yet; the key is disabled then. */
  @Delete()
  @Needs('signing-keys:write')
  async callOffDestruction(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<SigningKeyView> {
    return SigningKeyView.of(await this.destructions.callOff(caller, id));
  }
}
