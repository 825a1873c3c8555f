import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { answerEvents, EventStream } from '../../../platform/http/event-stream.js';
import { IdParam } from '../../../platform/http/id-param.js';
import { ImportPageView, ImportsQuery, ImportView, ImportWaitQuery } from './imports.dto.js';
import { ImportsService } from './imports.service.js';

const EVENT_EXAMPLE = 'event: status\nid: RUNNING WRITING 4000\ndata: {"status":"RUNNING"}\n\n';

@ApiTags('Inventory')
@Controller('api/imports')
export class ImportsController {
  constructor(private readonly imports: ImportsService) {}

  /**
   * List imports
   * @remarks Returns documents submitted for asynchronous import, newest first. Large outcomes and problems are omitted from the list and are returned only
   * with the individual import.
   */
  @Get()
  @Needs('inventory:report')
  async listImports(@TheCaller() caller: Caller, @Query() query: ImportsQuery): Promise<ImportPageView> {
    return ImportPageView.of(await this.imports.list(caller, query));
  }

  /**
   * Get an import
   * @remarks Returns the progress of an import. With `wait`, responds as soon as the import is final.
   */
  @Get(':id')
  @Needs('inventory:report')
  async getImport(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: ImportWaitQuery,
  ): Promise<ImportView> {
    return ImportView.of(await this.imports.find(caller, id, wait));
  }

  /**
   * Follow an import
   * @remarks Streams server-sent events: first the current state of the import, then the progress until the import is final.
   */
  @Get(':id/events')
  @Needs('inventory:report')
  @EventStream('import', EVENT_EXAMPLE)
  async followImport(@TheCaller() caller: Caller, @Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    await answerEvents(reply, this.imports.rows, () => this.imports.follow(caller, id, (row) => ImportView.of(row)));
  }
}
