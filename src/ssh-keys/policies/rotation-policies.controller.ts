import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { RotationPolicyBody, RotationPolicyPage, RotationPolicyView } from './rotation-policies.dto.js';
import { RotationPoliciesService } from './rotation-policies.service.js';

@ApiTags('SSH key rotation')
@Controller('v1/rotation-policies')
export class RotationPoliciesController {
  constructor(private readonly policies: RotationPoliciesService) {}

  /** Has keys rotated that are older than this, from now on. */
  @Post()
  @Needs('keys:rotate')
  async createRotationPolicy(
    @TheCaller() caller: Caller,
    @Body() body: RotationPolicyBody,
  ): Promise<RotationPolicyView> {
    return RotationPolicyView.of(await this.policies.create(caller, RotationPolicyBody.orderOf(body)));
  }

  /** Lists rotation policies, newest first. */
  @Get()
  @Needs('keys:read')
  async listRotationPolicies(@Query() query: PageQuery): Promise<RotationPolicyPage> {
    return RotationPolicyPage.of(await this.policies.list(query));
  }

  /** Shows a rotation policy. */
  @Get(':id')
  @Needs('keys:read')
  async getRotationPolicy(@Param() { id }: IdParam): Promise<RotationPolicyView> {
    return RotationPolicyView.of(await this.policies.get(id));
  }

  /** Removes a rotation policy. What it has ordered goes on. */
  @Delete(':id')
  @HttpCode(204)
  @Needs('keys:rotate')
  async removeRotationPolicy(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.policies.remove(caller, id);
  }
}
