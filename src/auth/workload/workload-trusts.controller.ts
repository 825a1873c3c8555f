import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { NamedPageQuery } from '../../platform/http/page.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import { WorkloadTrustBody, WorkloadTrustPage, WorkloadTrustView } from './workload.dto.js';
import { TriedClaimsBody, TriedTrustsView } from './workload-trial.dto.js';
import { WorkloadTrialService } from './workload-trial.service.js';
import { WorkloadTrustsService } from './workload-trusts.service.js';

@ApiTags('Settings')
@UseInterceptors(VersionInterceptor)
@Controller('api/settings/workload-trusts')
export class WorkloadTrustsController {
  constructor(
    private readonly trusts: WorkloadTrustsService,
    private readonly trials: WorkloadTrialService,
  ) {}

  /**
   * Create a workload trust
   * @remarks Creates a trust, which defines the tokens of an issuer that are accepted at `/oauth/token`, and the scopes and keys that these tokens grant.
   */
  @Post()
  @Needs('settings:write')
  @Fresh()
  async createWorkloadTrust(
    @TheCaller() caller: Caller,
    @Body() body: WorkloadTrustBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<WorkloadTrustView> {
    return WorkloadTrustView.of(await this.trusts.create(caller, body.toOrder(), use));
  }

  /**
   * Test workload trusts
   * @remarks Reports which trusts accept a token with these claims, and why the other trusts do not. No token is issued.
   */
  @Post('try')
  @HttpCode(200)
  @Needs('settings:read')
  async tryWorkloadTrusts(@Body() { claims }: TriedClaimsBody): Promise<TriedTrustsView> {
    return TriedTrustsView.of(await this.trials.try(claims));
  }

  /**
   * List workload trusts
   * @remarks Returns workload trusts, newest first.
   */
  @Get()
  @Needs('settings:read')
  async listWorkloadTrusts(@Query() query: NamedPageQuery): Promise<WorkloadTrustPage> {
    return WorkloadTrustPage.of(await this.trusts.list(query));
  }

  /**
   * Get a workload trust
   * @remarks Returns a workload trust with its ETag.
   */
  @Get(':id')
  @Needs('settings:read')
  async getWorkloadTrust(@Param() { id }: IdParam): Promise<WorkloadTrustView> {
    return WorkloadTrustView.of(await this.trusts.read(id));
  }

  /**
   * Replace a workload trust
   * @remarks Replaces a workload trust. Access tokens issued before the change are rejected within five seconds.
   */
  @Put(':id')
  @Needs('settings:write')
  @Fresh()
  async changeWorkloadTrust(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: WorkloadTrustBody,
    @ExpectedVersion() version: number,
  ): Promise<WorkloadTrustView> {
    const order = body.toOrder();
    return WorkloadTrustView.of(await this.trusts.change(caller, id, version, order));
  }

  /**
   * Delete a workload trust
   * @remarks Deletes a workload trust. Every process rejects access tokens issued under the trust within five seconds.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('settings:write')
  @Fresh()
  async removeWorkloadTrust(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.trusts.remove(caller, id);
  }
}
