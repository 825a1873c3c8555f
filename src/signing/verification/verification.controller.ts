import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { TakesJson } from '../../platform/http/bodies/json-body.js';
import { VerificationView, VerifyBody } from './verification.dto.js';
import { VerificationService } from './verification.service.js';

const LIMITS = { bytes: 192 * 1024, values: 50, scope: 'sign:read' };

@ApiTags('Signing')
@Controller('api/v1/verify')
export class VerificationController {
  constructor(private readonly verification: VerificationService) {}

  /**
   * Verify a signature
   * @remarks Verifies a signature that was made with a key of this service, including the certificate and timestamp. For an invalid signature, the call
   * succeeds and `valid` is false.
   */
  @Post()
  @HttpCode(200)
  @Needs('sign:read')
  @TakesJson(LIMITS)
  async verifySignature(@TheCaller() caller: Caller, @Body() body: VerifyBody): Promise<VerificationView> {
    return VerificationView.of(await this.verification.verify(caller, body.toOrder()));
  }
}
