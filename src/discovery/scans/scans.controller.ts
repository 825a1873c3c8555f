import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { answerEvents, EventStream } from '../../platform/http/event-stream.js';
import { IdParam } from '../../platform/http/id-param.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { CreateScanBody, ScanPage, ScanQuery, ScanResultPage, ScanResultQuery, ScanView } from './scans.dto.js';
import { ScansReader } from './scans.reader.js';
import { ScansService } from './scans.service.js';

const EVENT_EXAMPLE = 'event: status\nid: RUNNING 600 3\ndata: {"status":"RUNNING"}\n\n';

@ApiTags('Discovery')
@Controller('v1/scans')
export class ScansController {
  constructor(
    private readonly scans: ScansService,
    private readonly reader: ScansReader,
  ) {}

  /**
   * Start a scan
   * @remarks Starts a network scan within a scope, or a deep scan of hosts to which the service can log in. The scan runs in the background. `Location`
   * contains the URL of the scan.
   */
  @Post()
  @HttpCode(202)
  @Needs('discovery:run')
  async createScan(
    @TheCaller() caller: Caller,
    @Body() body: CreateScanBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ScanView> {
    const id = await this.scans.create(caller, body, use);
    void reply.header('location', `/v1/scans/${id}`);
    return ScanView.of(await this.reader.get(id));
  }

  /**
   * List scans
   * @remarks Returns scans, newest first.
   */
  @Get()
  @Needs('discovery:run')
  async listScans(@Query() query: ScanQuery): Promise<ScanPage> {
    return ScanPage.of(await this.reader.list(query));
  }

  /**
   * Get a scan
   * @remarks Returns a scan with its progress.
   */
  @Get(':id')
  @Needs('discovery:run')
  async getScan(@Param() { id }: IdParam): Promise<ScanView> {
    return ScanView.of(await this.reader.get(id));
  }

  /**
   * List scan results
   * @remarks Returns one result for each address and port that responded.
   */
  @Get(':id/results')
  @Needs('discovery:run')
  async listScanResults(@Param() { id }: IdParam, @Query() query: ScanResultQuery): Promise<ScanResultPage> {
    return ScanResultPage.of(await this.reader.results(id, query));
  }

  /**
   * Cancel a scan
   * @remarks Cancels a scan. Results that are already recorded remain.
   */
  @Post(':id/cancel')
  @HttpCode(200)
  @Needs('discovery:run')
  async cancelScan(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ScanView> {
    await this.scans.cancel(caller, id);
    return ScanView.of(await this.reader.get(id));
  }
}

@ApiTags('Discovery')
@Controller('v1/scans')
export class ScanEventsController {
  constructor(private readonly reader: ScansReader) {}

  /**
   * Follow a scan
   * @remarks Streams server-sent events: first the current state of the scan, then the progress until the scan ends.
   */
  @Get(':id/events')
  @Needs('discovery:run')
  @EventStream('scan', EVENT_EXAMPLE)
  async followScan(@Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    await answerEvents(reply, this.reader.watch, () => this.reader.follow(id, (scan) => ScanView.of(scan)));
  }
}
