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

  /**
   * List host keys
   * @remarks Returns the public keys that a host has presented or is expected to present.
   */
  @Get()
  @Needs('hosts:read')
  async listHostKeys(@Param() { id }: IdParam): Promise<HostKeyList> {
    return { items: (await this.keys.list(id)).map((key) => HostKeyView.of(key)) };
  }

  /**
   * Pin a host key
   * @remarks Pins a key that you obtained from a trusted source, or stores its certificate for the `ca` policy. Repeating the call has no effect.
   */
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

  /**
   * Accept a host key
   * @remarks Confirms a key. Logins then trust the key, and no longer trust previously pinned keys of the same type.
   */
  @Post(':keyId/accept')
  @HttpCode(200)
  @Needs('hosts:write')
  @Fresh()
  async acceptHostKey(@TheCaller() caller: Caller, @Param() { id, keyId }: HostKeyParam): Promise<HostKeyView> {
    return HostKeyView.of(await this.keys.decide(caller, id, keyId, 'pinned'));
  }

  /**
   * Reject a host key
   * @remarks Marks a key as rejected. The service does not log in to a host that presents a rejected key.
   */
  @Post(':keyId/reject')
  @HttpCode(200)
  @Needs('hosts:write')
  async rejectHostKey(@TheCaller() caller: Caller, @Param() { id, keyId }: HostKeyParam): Promise<HostKeyView> {
    return HostKeyView.of(await this.keys.decide(caller, id, keyId, 'rejected'));
  }
}
