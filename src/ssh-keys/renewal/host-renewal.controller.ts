import { Body, Controller, Post, Req, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/access.js';
import { originOf } from '../../platform/http/origin.js';
import { SshCertificateView, SshHostRenewalBody } from '../certificate-authority/ssh-certificate.dto.js';
import { HostRenewalService } from './host-renewal.service.js';

@ApiTags('SSH authorities')
@Controller('v1/ssh-host-renewals')
export class HostRenewalController {
  constructor(private readonly renewals: HostRenewalService) {}

  /**
   * Renew a host certificate
   * @remarks Renews a host certificate. The host sends its current certificate and a signature made with the certified key. Returns 202 with `status:
   * PENDING_APPROVAL` if a policy requires approval.
   */
  @Post()
  @Public()
  @ApiAcceptedResponse({ type: SshCertificateView })
  async renewSshHostCertificate(
    @Req() request: FastifyRequest,
    @Body() { certificate, signedAt, signature }: SshHostRenewalBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SshCertificateView> {
    const renewed = await this.renewals.renew(originOf(request), { certificate, signedAt, signature });
    if (renewed.status === 'PENDING_APPROVAL') void reply.status(202);
    return SshCertificateView.of(renewed);
  }
}
