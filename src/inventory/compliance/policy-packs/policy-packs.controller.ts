import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Put, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { ExpectedVersion, VersionInterceptor } from '../../../platform/http/versions.js';
import type { IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { PolicyPackList, PolicyPackView } from './attestation-views.dto.js';
import { PolicyPackBody, PolicyPackParam } from './attestations.dto.js';
import { PolicyPacksService } from './policy-packs.service.js';

@ApiTags('Inventory')
@UseInterceptors(VersionInterceptor)
@Controller('api/policy-packs')
export class PolicyPacksController {
  constructor(private readonly packs: PolicyPacksService) {}

  /**
   * List policy packs
   * @remarks Returns the built-in and custom policy packs.
   */
  @Get()
  @Needs('inventory:read')
  async listPolicyPacks(): Promise<PolicyPackList> {
    return PolicyPackList.of(await this.packs.list());
  }

  /**
   * Get a policy pack
   * @remarks Returns a policy pack. For a custom pack, the response includes an ETag.
   */
  @Get(':id')
  @Needs('inventory:read')
  async getPolicyPack(@Param() { id }: PolicyPackParam): Promise<PolicyPackView> {
    return PolicyPackView.of(await this.packs.get(id));
  }

  /**
   * Create a policy pack
   * @remarks Creates a policy pack. Each requirement is checked with a query or assessed manually.
   */
  @Post()
  @Needs('inventory:write')
  async addPolicyPack(
    @TheCaller() caller: Caller,
    @Body() body: PolicyPackBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<PolicyPackView> {
    return PolicyPackView.of(await this.packs.add(caller, body.toPack(), use));
  }

  /**
   * Replace a policy pack
   * @remarks Replaces a custom policy pack with a new version. Existing attestations keep the version with which they were created.
   */
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

  /**
   * Delete a policy pack
   * @remarks Deletes a custom policy pack. Attestations that use the pack are kept.
   */
  @Delete(':id')
  @Needs('inventory:write')
  @HttpCode(HttpStatus.NO_CONTENT)
  async removePolicyPack(@TheCaller() caller: Caller, @Param() { id }: PolicyPackParam): Promise<void> {
    await this.packs.remove(caller, id);
  }
}
