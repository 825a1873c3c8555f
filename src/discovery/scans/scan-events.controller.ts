import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs } from '../../access/access.js';
import { answerEvents } from '../../platform/http/event-stream.js';
import { IdParam } from '../../platform/http/id-param.js';
import { ScanWatch } from './scan-watch.js';
import { ScanView } from './scans.dto.js';

const EVENT_EXAMPLE = 'event: status\nid: RUNNING 600 3\ndata: {"status":"RUNNING"}\n\n';

@ApiTags('Discovery')
@Controller('v1/scans')
export class ScanEventsController {
  constructor(private readonly watch: ScanWatch) {}

  /** Tells of a scan as server-sent events: as it is, then how far it is, until it has ended. */
  @Get(':id/events')
  @Needs('discovery:run')
  @ApiProduces('text/event-stream')
  @ApiOkResponse({ schema: { type: 'string', example: EVENT_EXAMPLE }, description: 'Events with the scan as data' })
  async followScan(@Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    await answerEvents(reply, this.watch.rows, () => this.watch.follow(id, (scan) => ScanView.of(scan)));
  }
}
