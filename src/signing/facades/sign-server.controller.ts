import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { ProcessBody, ProcessView, WorkerParam } from './sign-server.dto.js';
import { SignServerService } from './sign-server.service.js';

@ApiTags('Facades')
@Controller('rest/v1/workers')
export class SignServerController {
  constructor(private readonly workers: SignServerService) {}

  /** Signs a hash value as SignServer does. */
  @Post(':name/process')
  @HttpCode(200)
  @Needs('sign:digest')
  async processByWorker(
    @TheCaller() caller: Caller,
    @Param() { name }: WorkerParam,
    @Body() { data, metaData }: ProcessBody,
  ): Promise<ProcessView> {
    const { CLIENTSIDE_HASHDIGESTALGORITHM: algorithm, FILENAME: fileName } = metaData;
    const made = await this.workers.process(caller, name, { digest: data, algorithm, fileName });
    return {
      data: made.signature.toString('base64'),
      archiveId: made.requestId,
      signerCertificate: made.certificate?.toString('base64'),
    };
  }
}
