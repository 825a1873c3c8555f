import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { EvidenceView } from './evidence.dto.js';
import { EvidenceService } from './evidence.service.js';

@ApiTags('Signing')
@Controller('api/v1/sign/requests')
export class EvidenceController {
  constructor(private readonly evidence: EvidenceService) {}

  /**
   * Get signing evidence
   * @remarks Returns a file that proves a signature and can be verified offline. The file contains the signing request, the key, the approval and the log
   * proofs.
   */
  @Get(':id/evidence')
  @Needs('sign:read')
  @Header('content-disposition', 'attachment; filename="evidence.json"')
  async getEvidence(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<EvidenceView> {
    return EvidenceView.of(await this.evidence.of(caller, id));
  }
}
