import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { NamedPageQuery } from '../../platform/http/page.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import {
  ChangeWorkloadIssuerBody,
  WorkloadIssuerBody,
  WorkloadIssuerPage,
  WorkloadIssuerView,
} from './workload.dto.js';
import { WorkloadIssuersService } from './workload-issuers.service.js';

@ApiTags('Settings')
@UseInterceptors(VersionInterceptor)
@Controller('api/settings/workload-issuers')
export class WorkloadIssuersController {
  constructor(private readonly issuers: WorkloadIssuersService) {}

  /**
   * Create a workload issuer
   * @remarks Adds a workload issuer. Its keys are discovered, or uploaded if the service cannot reach the issuer. Without a trust, an issuer
   * grants nothing.
   */
  @Post()
  @Needs('settings:write')
  @Fresh()
  async createWorkloadIssuer(
    @TheCaller() caller: Caller,
    @Body() body: WorkloadIssuerBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<WorkloadIssuerView> {
    return WorkloadIssuerView.of(await this.issuers.create(caller, body.toOrder(), use));
  }

  /**
   * List workload issuers
   * @remarks Returns workload issuers, newest first.
   */
  @Get()
  @Needs('settings:read')
  async listWorkloadIssuers(@Query() query: NamedPageQuery): Promise<WorkloadIssuerPage> {
    return WorkloadIssuerPage.of(await this.issuers.list(query));
  }

  /**
   * Get a workload issuer
   * @remarks Returns a workload issuer with its ETag.
   */
  @Get(':id')
  @Needs('settings:read')
  async getWorkloadIssuer(@Param() { id }: IdParam): Promise<WorkloadIssuerView> {
    return WorkloadIssuerView.of(await this.issuers.read(id));
  }

  /**
   * Update a workload issuer
   * @remarks Renames, enables or disables an issuer, or replaces its uploaded keys. Tokens of a disabled issuer are rejected within five seconds.
   */
  @Put(':id')
  @Needs('settings:write')
  @Fresh()
  async changeWorkloadIssuer(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeWorkloadIssuerBody,
    @ExpectedVersion() version: number,
  ): Promise<WorkloadIssuerView> {
    const order = body.toChange();
    return WorkloadIssuerView.of(await this.issuers.change(caller, id, version, order));
  }

  /**
   * Delete a workload issuer
   * @remarks Deletes an issuer with its trusts. Every process rejects tokens of the issuer within five seconds.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('settings:write')
  @Fresh()
  async removeWorkloadIssuer(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.issuers.remove(caller, id);
  }
}
