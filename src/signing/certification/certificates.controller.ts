import { Body, Controller, Get, HttpStatus, Param, Post, Query, Res, UseGuards } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdOrNameParam, IdParam } from '../../platform/http/id-param.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import {
  CertificatePage,
  CertificatesQuery,
  CertificateView,
  CertificationRequestBody,
  CertificationRequestView,
  ChainBody,
  SelfSignedCertificateBody,
  SelfSignedCertificateView,
} from '../certificates/certificates.dto.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { CertificatesService } from '../certificates/certificates.service.js';
import { CertificationRequestsService } from './certification-requests.service.js';
import { SelfSignedCertificatesService } from './self-signed-certificates.service.js';
import { SigningKeyNameGuard } from '../keys/signing-key-name.guard.js';
import { SigningKeyName } from '../keys/signing-key-name.pipe.js';

@ApiTags('Certificates')
@Controller('api/v1')
export class CertificatesController {
  constructor(
    private readonly certificates: CertificatesService,
    private readonly reader: CertificatesReader,
    private readonly requests: CertificationRequestsService,
    private readonly selfSigned: SelfSignedCertificatesService,
  ) {}

  /**
   * Create a certification request
   * @remarks Creates a PKCS #10 request, signed in the HSM, for a certificate authority of your choice.
   */
  @Post('signing-keys/:id/csr')
  @UseGuards(SigningKeyNameGuard)
  @Needs('signing-keys:write')
  @Fresh()
  async createCertificationRequest(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() { subject, version }: CertificationRequestBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<CertificationRequestView> {
    return { csr: await this.requests.create(caller, id, { subject, version, use }) };
  }

  /**
   * Create a self-signed certificate
   * @remarks Issues a certificate for a signing key, signed by the key itself. The call creates a signing request. If the request needs approval, the response
   * is 202; repeat the call after approval.
   */
  @Post('signing-keys/:id/self-signed-certificate')
  @UseGuards(SigningKeyNameGuard)
  @Needs('signing-keys:write')
  @Fresh()
  @ApiOkResponse({ type: SelfSignedCertificateView, description: 'Signed and stored' })
  @ApiAcceptedResponse({
    type: SelfSignedCertificateView,
    description: 'Pending approval; repeat the call after it is approved',
  })
  async createSelfSignedCertificate(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() body: SelfSignedCertificateBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SelfSignedCertificateView> {
    const made = await this.selfSigned.make(caller, id, body);
    void reply.status(made.certificate === undefined ? HttpStatus.ACCEPTED : HttpStatus.OK);
    return SelfSignedCertificateView.of(made);
  }

  /**
   * Import a certificate
   * @remarks Imports the certificate of a signing key with its chain.
   */
  @Post('signing-keys/:id/certificate')
  @UseGuards(SigningKeyNameGuard)
  @Needs('signing-keys:write')
  @Fresh()
  async importCertificate(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() { chain }: ChainBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<CertificateView> {
    return CertificateView.of(await this.certificates.importForKey(caller, id, chain, use));
  }

  /**
   * Onboard a certificate
   * @remarks Adds a certificate for an external key, to monitor the certificate's expiry.
   */
  @Post('certificates')
  @Needs('signing-keys:write')
  @Fresh()
  async onboardCertificate(
    @TheCaller() caller: Caller,
    @Body() { chain }: ChainBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<CertificateView> {
    return CertificateView.of(await this.certificates.onboard(caller, chain, use));
  }

  /**
   * List certificates
   * @remarks Returns onboarded certificates, newest first. Certificates of signing keys that you cannot use are omitted. `expires=this-month` lists the
   * certificates that expire in the current calendar month.
   */
  @Get('certificates')
  @Needs('signing-keys:read')
  async listCertificates(@TheCaller() caller: Caller, @Query() query: CertificatesQuery): Promise<CertificatePage> {
    return CertificatePage.of(await this.reader.list(caller, query));
  }

  /**
   * Get a certificate
   * @remarks Returns an onboarded certificate with its chain.
   */
  @Get('certificates/:id')
  @Needs('signing-keys:read')
  async getCertificate(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<CertificateView> {
    return CertificateView.of(await this.reader.getFor(caller, id));
  }
}
