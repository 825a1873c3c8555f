import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { AddHostAuthorityBody, HostAuthorityList, HostAuthorityView } from './host-authorities.dto.js';
import { HostAuthorities } from './host-authorities.service.js';

@ApiTags('Hosts')
@Controller('v1/host-authorities')
export class HostAuthoritiesController {
  constructor(private readonly authorities: HostAuthorities) {}

  /**
   * List trusted host authorities
   * @remarks Returns the certificate authorities whose host certificates are trusted.
   */
  @Get()
  @Needs('hosts:read')
  async listHostAuthorities(): Promise<HostAuthorityList> {
    return { items: (await this.authorities.list()).map((row) => HostAuthorityView.of(row)) };
  }

  /**
   * Trust a host authority
   * @remarks Trusts host certificates issued by an authority, for hosts whose host key policy is `ca`.
   */
  @Post()
  @Needs('hosts:write')
  @Fresh()
  async addHostAuthority(
    @TheCaller() caller: Caller,
    @Body() body: AddHostAuthorityBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<HostAuthorityView> {
    return HostAuthorityView.of(await this.authorities.add(caller, body.name, body.publicKey, use));
  }

  /**
   * Remove a host authority
   * @remarks Removes an authority. Host certificates issued by the authority are no longer trusted.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('hosts:write')
  @Fresh()
  async removeHostAuthority(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.authorities.remove(caller, id);
  }
}
