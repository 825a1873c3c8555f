import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { RotationPolicyBody, RotationPolicyPage, RotationPolicyView } from './rotation-policies.dto.js';
import { RotationPoliciesService } from './rotation-policies.service.js';

@ApiTags('SSH key rotation')
@UseInterceptors(VersionInterceptor)
@Controller('v1/rotation-policies')
export class RotationPoliciesController {
  constructor(private readonly policies: RotationPoliciesService) {}

  /**
   * Create a rotation policy
   * @remarks Creates a policy that automatically rotates keys when they exceed an age limit.
   */
  @Post()
  @Needs('keys:rotate')
  @Fresh()
  async createRotationPolicy(
    @TheCaller() caller: Caller,
    @Body() body: RotationPolicyBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<RotationPolicyView> {
    return RotationPolicyView.of(await this.policies.create(caller, RotationPolicyBody.orderOf(body), use));
  }

  /**
   * List rotation policies
   * @remarks Returns rotation policies, newest first.
   */
  @Get()
  @Needs('keys:read')
  async listRotationPolicies(@Query() query: PageQuery): Promise<RotationPolicyPage> {
    const page = await this.policies.list(query);
    return RotationPolicyPage.of(page, await this.policies.heldBack(page.items));
  }

  /**
   * Get a rotation policy
   * @remarks Returns a rotation policy with its ETag.
   */
  @Get(':id')
  @Needs('keys:read')
  async getRotationPolicy(@Param() { id }: IdParam): Promise<RotationPolicyView> {
    const policy = await this.policies.get(id);
    return RotationPolicyView.of(policy, (await this.policies.heldBack([policy])).get(id));
  }

  /**
   * Replace a rotation policy
   * @remarks Replaces a rotation policy. Rotations in progress continue. Later rotations run on behalf of the caller.
   */
  @Put(':id')
  @Needs('keys:rotate')
  @Fresh()
  async changeRotationPolicy(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: RotationPolicyBody,
    @ExpectedVersion() version: number,
  ): Promise<RotationPolicyView> {
    const order = RotationPolicyBody.orderOf(body);
    const policy = await this.policies.change(caller, id, version, order);
    return RotationPolicyView.of(policy, (await this.policies.heldBack([policy])).get(id));
  }

  /**
   * Delete a rotation policy
   * @remarks Deletes a rotation policy. Rotations in progress continue.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('keys:rotate')
  async removeRotationPolicy(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.policies.remove(caller, id);
  }
}
