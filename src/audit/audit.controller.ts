import { Controller, Get, Query, Header, Req, StreamableFile } from '@nestjs/common';
import { ApiTags, ApiOkResponse, ApiProduces } from '@nestjs/swagger';
import { Needs } from '../access/access.js';
import { AuditPage, AuditQuery } from './entries/audit.dto.js';
import { AuditService } from './entries/audit.service.js';
import { Readable } from 'node:stream';
import { PageQuery } from '../platform/http/page.js';
import { type AuthorizedRequest, whileAuthorized } from '../platform/http/reauthorization.js';
import { LogExport } from './log/log-export.js';
import { LogReader } from './log/log-reader.js';
import {
  CheckpointPage,
  CheckpointQuery,
  CheckpointView,
  ConsistencyQuery,
  ConsistencyView,
  InclusionQuery,
  InclusionView,
  LogKeyView,
} from './log/log.dto.js';

@ApiTags('Audit')
@Controller('api/v1/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  /**
   * List audit entries
   * @remarks Returns audit entries, newest first. Filters select entries by action, actor, target and time.
   */
  @Get('entries')
  @Needs('audit:read')
  async listAuditEntries(@Query() query: AuditQuery): Promise<AuditPage> {
    return AuditPage.of(await this.audit.list(query));
  }
}

@ApiTags('Audit')
@Controller('api/v1/audit/log')
export class LogController {
  constructor(
    private readonly reader: LogReader,
    private readonly exports: LogExport,
  ) {}

  /**
   * Get the log key
   * @remarks Returns the public key that signs checkpoints. Keep a copy of the key: anyone who has the key can verify the log without trusting this
   * service.
   */
  @Get('key')
  @Needs('audit:read')
  async getLogKey(): Promise<LogKeyView> {
    return LogKeyView.of(await this.reader.key());
  }

  /**
   * Get a log checkpoint
   * @remarks Returns the newest signed checkpoint, or the checkpoint over a tree of the given size.
   */
  @Get('checkpoint')
  @Needs('audit:read')
  async getLogCheckpoint(@Query() { size }: CheckpointQuery): Promise<CheckpointView> {
    return CheckpointView.of(await this.reader.checkpoint(size));
  }

  /**
   * List log checkpoints
   * @remarks Returns signed checkpoints, newest first.
   */
  @Get('checkpoints')
  @Needs('audit:read')
  async listLogCheckpoints(@Query() query: PageQuery): Promise<CheckpointPage> {
    return CheckpointPage.of(await this.reader.checkpoints(query));
  }

  /**
   * Prove inclusion of an entry
   * @remarks Returns the proof that an entry is in the log (RFC 6962 section 2.1.1).
   */
  @Get('inclusion')
  @Needs('audit:read')
  async proveInclusion(@Query() { entry, leaf, size }: InclusionQuery): Promise<InclusionView> {
    return InclusionView.of(await this.reader.inclusion(entry, leaf, size));
  }

  /**
   * Prove consistency of the log
   * @remarks Returns the proof that the log with `first` leaves is a prefix of the log with `second` leaves (RFC 6962 section 2.1.2).
   */
  @Get('consistency')
  @Needs('audit:read')
  async proveConsistency(@Query() { first, second }: ConsistencyQuery): Promise<ConsistencyView> {
    return ConsistencyView.of(await this.reader.consistency(first, second));
  }

  /**
   * Export the log
   * @remarks Streams the entire log as JSON Lines. The export can be verified without this service.
   */
  @Get('export')
  @Needs('audit:read')
  @Header('content-disposition', 'attachment; filename="audit-log.ndjson"')
  @ApiProduces('application/x-ndjson')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary', example: '{"log":"localhost:9090/log","size":4711}' } })
  async exportLog(@Req() request: AuthorizedRequest): Promise<StreamableFile> {
    await this.reader.key();
    return new StreamableFile(Readable.from(whileAuthorized(request, this.exports.lines()), { objectMode: false }), {
      type: 'application/x-ndjson',
    });
  }
}
