import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../access/access.js';
import { AuditPage, AuditQuery } from './audit.dto.js';
import { AuditService } from './audit.service.js';

@ApiTags('Audit')
@Controller('api/v1/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  /** Lists audit entries, newest first. */
  @Get('entries')
  @Needs('audit:read')
  async listAuditEntries(@Query() query: AuditQuery): Promise<AuditPage> {
    return AuditPage.of(await this.audit.list(query));
  }
}
