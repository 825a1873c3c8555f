import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { CreateScanScopeBody, ScanScopePage, ScanScopeView } from './scan-scopes.dto.js';
import { ScanScopesService } from './scan-scopes.service.js';

@ApiTags('Discovery')
@Controller('v1/scan-scopes')
export class ScanScopesController {
  constructor(private readonly scopes: ScanScopesService) {}

  /**
   * Create a scan scope
   * @remarks Defines which addresses may be scanned. Loopback addresses, cloud metadata addresses and similar addresses are never scanned.
   */
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

  /**
   * List scan scopes
   * @remarks Returns scan scopes, newest first.
   */
  @Get()
  @Needs('discovery:run')
  async listScanScopes(@Query() query: PageQuery): Promise<ScanScopePage> {
    return ScanScopePage.of(await this.scopes.list(query));
  }

  /**
   * Get a scan scope
   * @remarks Returns a scan scope.
   */
  @Get(':id')
  @Needs('discovery:run')
  async getScanScope(@Param() { id }: IdParam): Promise<ScanScopeView> {
    return ScanScopeView.of(await this.scopes.get(id));
  }

  /**
   * Delete a scan scope
   * @remarks Deletes a scan scope and cancels its scans.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('admin:*')
  @Fresh()
  async deleteScanScope(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.scopes.remove(caller, id);
  }
}
