import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { processOrder } from './sign-server-order.js';
import { ProcessBody, ProcessView, SignServerError, WorkerParam } from './sign-server.dto.js';
import { SignServerService } from './sign-server.service.js';

@ApiTags('Facades')
@ApiResponse({ status: '4XX', description: 'Rejected; the body uses SignServer’s error format', type: SignServerError })
@Controller('rest/v1/workers')
export class SignServerController {
  constructor(private readonly workers: SignServerService) {}

  /**
   * Sign with a SignServer worker
   * @remarks Signs a hash value through the SignServer REST API.
   */
  @Post(':name/process')
  @HttpCode(200)
  @Needs('sign:digest')
  @ApiBody({ type: ProcessBody })
  async processByWorker(
    @TheCaller() caller: Caller,
    @Param() { name }: WorkerParam,
    @Body() body: unknown,
  ): Promise<ProcessView> {
    const made = await this.workers.process(caller, name, processOrder(body));
    return {
      data: made.signature.toString('base64'),
      archiveId: made.requestId,
      signerCertificate: made.certificate.toString('base64'),
      metaData: {},
    };
  }
}
