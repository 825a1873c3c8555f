import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Put, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import { PolicyPackList, PolicyPackView } from './attestation-views.dto.js';
import { PolicyPackBody, PolicyPackParam } from './attestations.dto.js';
import { PolicyPacksService } from './policy-packs.service.js';

@ApiTags('Inventory')
@UseInterceptors(VersionInterceptor)
@Controller('api/policy-packs')
export class PolicyPacksController {
  constructor(private readonly packs: PolicyPacksService) {}

  /** Lists the policy packs: those that come with the product and one's own. */
  @Get()
  @Needs('inventory:read')
  async listPolicyPacks(): Promise<PolicyPackList> {
    return PolicyPackList.of(await this.packs.list());
  }

  /** Shows a policy pack; one's own with its ETag. */
  @Get(':id')
  @Needs('inventory:read')
  async getPolicyPack(@Param() { id }: PolicyPackParam): Promise<PolicyPackView> {
    return PolicyPackView.of(await this.packs.get(id));
  }

  /** Adds a policy pack of one's own: requirements that a query checks or a person judges. */
  @Post()
  @Needs('inventory:write')
  async addPolicyPack(
    @TheCaller() caller: Caller,
    @Body() body: PolicyPackBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<PolicyPackView> {
    return PolicyPackView.of(await this.packs.add(caller, body.toPack(), use));
  }

  /** Changes a policy pack of one's own, from now on: attestations keep it as it was. A change has another version. */
  @Put(':id')
  @Needs('inventory:write')
  async changePolicyPack(
    @TheCaller() caller: Caller,
    @Param() { id }: PolicyPackParam,
    @Body() body: PolicyPackBody,
    @ExpectedVersion() version: number,
  ): Promise<PolicyPackView> {
    return PolicyPackView.of(await this.packs.change(caller, id, version, body.toPack()));
  }

  /** Removes a policy pack of one's own. Its attestations stay. */
  @Delete(':id')
  @Needs('inventory:write')
  @HttpCode(HttpStatus.NO_CONTENT)
  async removePolicyPack(@TheCaller() caller: Caller, @Param() { id }: PolicyPackParam): Promise<void> {
    await this.packs.remove(caller, id);
  }
}
