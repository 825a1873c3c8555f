import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { HostKeyList, HostKeyParam, HostKeyView, PinHostKeyBody } from './host-keys.dto.js';
import { HostKeysService } from './host-keys.service.js';

@ApiTags('Hosts')
@Controller('v1/hosts/:id/host-keys')
export class HostKeysController {
  constructor(private readonly keys: HostKeysService) {}

  /** Lists the public keys that a host has shown or should show. */
  @Get()
  @Needs('hosts:read')
  async listHostKeys(@Param() { id }: IdParam): Promise<HostKeyList> {
    return { items: (await this.keys.list(id)).map((key) => HostKeyView.of(key)) };
  }

  /** Pins a key that you have from a safe place, or keeps the certificate of one for the policy `ca`. Repeating the call changes nothing. */
  @Post()
  @Needs('hosts:write')
  @Fresh()
  async pinHostKey(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { publicKey }: PinHostKeyBody,
  ): Promise<HostKeyView> {
    return HostKeyView.of(await this.keys.pin(caller, id, publicKey));
  }

  /** Confirms a key: logins trust it from now on, and no longer the pinned ones of its type. */
  @Post(':keyId/accept')
  @HttpCode(200)
  @Needs('hosts:write')
  @Fresh()
  async acceptHostKey(@TheCaller() caller: Caller, @Param() { id, keyId }: HostKeyParam): Promise<HostKeyView> {
    return HostKeyView.of(await this.keys.decide(caller, id, keyId, 'pinned'));
  }

  /** Marks a key as wrong: whoever shows it is not logged in to. */
  @Post(':keyId/reject')
  @HttpCode(200)
  @Needs('hosts:write')
  async rejectHostKey(@TheCaller() caller: Caller, @Param() { id, keyId }: HostKeyParam): Promise<HostKeyView> {
    return HostKeyView.of(await this.keys.decide(caller, id, keyId, 'rejected'));
  }
}
