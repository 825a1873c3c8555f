import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import type { IdempotentUse } from '../../platform/idempotency/idempotency-keys.js';
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

  /** Trusts an issuer of workload tokens: by discovery, or with uploaded keys where it cannot be reached. It gives nothing without a trust. */
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

  /** Lists issuers of workload tokens, newest first. */
  @Get()
  @Needs('settings:read')
  async listWorkloadIssuers(@Query() query: PageQuery): Promise<WorkloadIssuerPage> {
    return WorkloadIssuerPage.of(await this.issuers.list(query));
  }

  /** Shows an issuer of workload tokens, with its ETag. */
  @Get(':id')
  @Needs('settings:read')
  async getWorkloadIssuer(@Param() { id }: IdParam): Promise<WorkloadIssuerView> {
    return WorkloadIssuerView.of(await this.issuers.read(id));
  }

  /** Renames, enables or disables an issuer; replaces uploaded keys. Tokens of a disabled one are refused within five seconds. */
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

  /** Removes an issuer with its trusts. Their tokens are refused everywhere within five seconds. */
  @Delete(':id')
  @HttpCode(204)
  @Needs('settings:write')
  @Fresh()
  async removeWorkloadIssuer(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.issuers.remove(caller, id);
  }
}
