import { Body, Controller, Get, Headers, Param, Post, Query } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { IDEMPOTENCY_KEY, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import {
  CertificatePage,
  CertificateView,
  CertificationRequestBody,
  CertificationRequestView,
  ChainBody,
} from './certificates.dto.js';
import { CertificatesReader } from './certificates.reader.js';
import { CertificatesService } from './certificates.service.js';
import { CertificationRequestsService } from './certification-requests.service.js';

@ApiTags('Certificates')
@Controller('api/v1')
export class CertificatesController {
  constructor(
    private readonly certificates: CertificatesService,
    private readonly reader: CertificatesReader,
    private readonly requests: CertificationRequestsService,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Makes a PKCS #10 certification request, signed in the HSM, for a certificate authority of your choice. */
  @Post('signing-keys/:id/csr')
  @Needs('signing-keys:write')
  @ApiHeader(IDEMPOTENCY_KEY)
  async createCertificationRequest(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { subject, version }: CertificationRequestBody,
    @Headers('idempotency-key') key?: string,
  ): Promise<CertificationRequestView> {
    const use = this.idempotency.use(key, caller.id, 'createCertificationRequest', { id, subject, version }, newId());
    return { csr: await this.requests.create(caller, id, { subject, version, use }) };
  }

  /** Imports the certificate of a signing key, with those above it. */
  @Post('signing-keys/:id/certificate')
  @Needs('signing-keys:write')
  @ApiHeader(IDEMPOTENCY_KEY)
  async importCertificate(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { chain }: ChainBody,
    @Headers('idempotency-key') key?: string,
  ): Promise<CertificateView> {
    const use = this.idempotency.use(key, caller.id, 'importCertificate', { id, chain }, newId());
    return CertificateView.of(await this.certificates.importForKey(caller, id, chain, use));
  }

  /** Onboards a certificate that is not of one of our keys, to keep an eye on its dates. */
  @Post('certificates')
  @Needs('signing-keys:write')
  @ApiHeader(IDEMPOTENCY_KEY)
  async onboardCertificate(
    @TheCaller() caller: Caller,
    @Body() { chain }: ChainBody,
    @Headers('idempotency-key') key?: string,
  ): Promise<CertificateView> {
    const use = this.idempotency.use(key, caller.id, 'onboardCertificate', { chain }, newId());
    return CertificateView.of(await this.certificates.onboard(caller, chain, use));
  }

  /** Lists onboarded certificates, newest first. */
  @Get('certificates')
  @Needs('signing-keys:read')
  async listCertificates(@Query() query: PageQuery): Promise<CertificatePage> {
    return CertificatePage.of(await this.reader.list(query));
  }

  /** Shows an onboarded certificate with its chain. */
  @Get('certificates/:id')
  @Needs('signing-keys:read')
  async getCertificate(@Param() { id }: IdParam): Promise<CertificateView> {
    return CertificateView.of(await this.reader.get(id));
  }
}
