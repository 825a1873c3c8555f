import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { ImportPageView, ImportView, ImportWaitQuery } from './imports.dto.js';
import { ImportsService } from './imports.service.js';

@ApiTags('Inventory')
@Controller('api/imports')
export class ImportsController {
  constructor(private readonly imports: ImportsService) {}

  /** Lists documents that were sent to be taken in later, the newest first. */
  @Get()
  @Needs('inventory:write')
  async listImports(@TheCaller() caller: Caller, @Query() { limit, cursor }: PageQuery): Promise<ImportPageView> {
    return ImportPageView.of(await this.imports.list(caller, limit, cursor));
  }

  /** Shows how far a document has come; with `wait`, as soon as it is at its end. */
  @Get(':id')
  @Needs('inventory:write')
  async getImport(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: ImportWaitQuery,
  ): Promise<ImportView> {
    return ImportView.of(await this.imports.find(caller, id, wait));
  }
}
