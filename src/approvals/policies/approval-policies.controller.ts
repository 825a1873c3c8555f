import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdOrNameParam } from '../../platform/http/id-param.js';
import { NamedPageQuery } from '../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { ApprovalPolicyBody, ApprovalPolicyPage, ApprovalPolicyView } from './approval-policies.dto.js';
import { PolicyChecks } from './policy-checks.js';
import { PolicyTrialBody, PolicyTrialView } from './policy-trial.dto.js';
import { PolicyTrialService } from './policy-trial.service.js';
import { ApprovalPoliciesService } from './approval-policies.service.js';
import { ApprovalPolicyName } from './approval-policy-name.pipe.js';

@ApiTags('Approvals')
@UseInterceptors(VersionInterceptor)
@Controller('api/v1/approval-policies')
export class ApprovalPoliciesController {
  constructor(
    private readonly policies: ApprovalPoliciesService,
    private readonly trials: PolicyTrialService,
    private readonly checks: PolicyChecks,
  ) {}

  /**
   * Create an approval policy
   * @remarks Creates a policy that requires approval for uses of the named keys that meet the conditions. Pending requests are evaluated again.
   */
  @Post()
  @Needs('approvals:write')
  @Fresh()
  async createApprovalPolicy(
    @TheCaller() caller: Caller,
    @Body() body: ApprovalPolicyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ApprovalPolicyView> {
    const policy = await this.policies.create(caller, body.toOrder(), use);
    void reply.header('location', `/api/v1/approval-policies/${policy.id}`);
    return ApprovalPolicyView.of(await this.checks.covering(policy));
  }

  /**
   * List approval policies
   * @remarks Returns approval policies, newest first.
   */
  @Get()
  @Needs('approvals:read')
  async listApprovalPolicies(@Query() query: NamedPageQuery): Promise<ApprovalPolicyPage> {
    const { items, nextCursor } = await this.policies.list(query);
    const covering = await Promise.all(items.map((policy) => this.checks.covering(policy)));
    return ApprovalPolicyPage.of({ items: covering, nextCursor });
  }

  /**
   * Test approval policies
   * @remarks Reports whether uses of keys, or past requests, need approval, and why. No approval is requested, and a policy in the body is not stored.
   */
  @Post('test')
  @HttpCode(200)
  @Needs('approvals:read')
  async testApprovalPolicies(@TheCaller() caller: Caller, @Body() body: PolicyTrialBody): Promise<PolicyTrialView> {
    const trial = body.toTrial();
    return PolicyTrialView.of(await this.trials.try(caller, trial), trial.policy);
  }

  /**
   * Get an approval policy
   * @remarks Returns an approval policy with its ETag.
   */
  @Get(':id')
  @Needs('approvals:read')
  async getApprovalPolicy(@Param(ApprovalPolicyName) { id }: IdOrNameParam): Promise<ApprovalPolicyView> {
    return ApprovalPolicyView.of(await this.checks.covering(await this.policies.read(id)));
  }

  /**
   * Replace an approval policy
   * @remarks Replaces an approval policy. Pending requests need the votes that the new version requires.
   */
  @Put(':id')
  @Needs('approvals:write')
  @Fresh()
  async changeApprovalPolicy(
    @TheCaller() caller: Caller,
    @Param(ApprovalPolicyName) { id }: IdOrNameParam,
    @Body() body: ApprovalPolicyBody,
    @ExpectedVersion() version: number,
  ): Promise<ApprovalPolicyView> {
    const policy = await this.policies.change(caller, id, version, body.toOrder());
    return ApprovalPolicyView.of(await this.checks.covering(policy));
  }

  /**
   * Delete an approval policy
   * @remarks Deletes an approval policy. Pending requests still need the votes that were required when they were made.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('approvals:write')
  @Fresh()
  async removeApprovalPolicy(
    @TheCaller() caller: Caller,
    @Param(ApprovalPolicyName) { id }: IdOrNameParam,
  ): Promise<void> {
    await this.policies.remove(caller, id);
  }
}
