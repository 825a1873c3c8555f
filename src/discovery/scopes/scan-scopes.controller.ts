import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import type { IdempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import { CreateScanScopeBody, ScanScopePage, ScanScopeView } from './scan-scopes.dto.js';
import { ScanScopesService } from './scan-scopes.service.js';

@ApiTags('Discovery')
@Controller('v1/scan-scopes')
export class ScanScopesController {
  constructor(private readonly scopes: ScanScopesService) {}

  /** Says what may be scanned. Loopback, metadata and the like stay closed whatever a scope says. */
  @Post()
  @Needs('admin:*')
  @Fresh()
  async createScanScope(
    @TheCaller() caller: Caller,
    @Body() body: CreateScanScopeBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ScanScopeView> {
    const { name, networks = [], names = [], ports } = body;
    return ScanScopeView.of(await this.scopes.create(caller, { name, networks, names, ports }, use));
  }

  /** Lists scan scopes, newest first. */
  @Get()
  @Needs('discovery:run')
  async listScanScopes(@Query() query: PageQuery): Promise<ScanScopePage> {
    return ScanScopePage.of(await this.scopes.list(query));
  }

  /** Shows a scan scope. */
  @Get(':id')
  @Needs('discovery:run')
  async getScanScope(@Param() { id }: IdParam): Promise<ScanScopeView> {
    return ScanScopeView.of(await this.scopes.get(id));
  }

  /** Removes a scan scope; its scans end. */
  @Delete(':id')
  @HttpCode(204)
  @Needs('admin:*')
  @Fresh()
  async deleteScanScope(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.scopes.remove(caller, id);
  }
}
