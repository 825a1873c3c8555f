import { Body, Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { IdOrNameParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import {
  CertifyUserIdsBody,
  OpenPgpCertificatePage,
  OpenPgpCertificateView,
  RevokeOpenPgpBody,
} from './openpgp-certificates.dto.js';
import { OpenPgpCertificatesService } from './openpgp-certificates.service.js';
import { SigningKeyNameGuard } from '../keys/signing-key-name.guard.js';
import { SigningKeyName } from '../keys/signing-key-name.pipe.js';

@ApiTags('OpenPGP')
@Controller('api/v1')
@UseGuards(SigningKeyNameGuard)
export class OpenPgpCertificatesController {
  constructor(private readonly certificates: OpenPgpCertificatesService) {}

  /**
   * List OpenPGP certificates
   * @remarks Returns the OpenPGP certificates of signing keys, newest key first. A page can have fewer items than its limit.
   */
  @Get('openpgp-certificates')
  @Needs('signing-keys:read')
  async listOpenPgpCertificates(
    @TheCaller() caller: Caller,
    @Query() query: PageQuery,
  ): Promise<OpenPgpCertificatePage> {
    return OpenPgpCertificatePage.of(await this.certificates.list(caller, query));
  }

  /**
   * Get an OpenPGP certificate
   * @remarks Returns the OpenPGP certificate of a signing key.
   */
  @Get('signing-keys/:id/openpgp')
  @Needs('signing-keys:read')
  async getOpenPgpCertificate(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
  ): Promise<OpenPgpCertificateView> {
    return OpenPgpCertificateView.of(await this.certificates.get(caller, id));
  }

  /**
   * Certify OpenPGP user IDs
   * @remarks Binds user IDs and an expiration time to the OpenPGP key of a signing key. Each certification is a signing request and may need approval.
   */
  @Post('signing-keys/:id/openpgp')
  @HttpCode(200)
  @Needs('signing-keys:write')
  @Fresh()
  async certifyUserIds(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() body: CertifyUserIdsBody,
  ): Promise<OpenPgpCertificateView> {
    return OpenPgpCertificateView.of(await this.certificates.certify(caller, id, body.toOrder()));
  }

  /**
   * Revoke an OpenPGP certificate
   * @remarks Creates a revocation signature for the OpenPGP key. Afterwards, publish the updated certificate.
   */
  @Post('signing-keys/:id/openpgp/revocation')
  @HttpCode(200)
  @Needs('signing-keys:write')
  @Fresh()
  async revokeOpenPgpCertificate(
    @TheCaller() caller: Caller,
    @Param(SigningKeyName) { id }: IdOrNameParam,
    @Body() body: RevokeOpenPgpBody,
  ): Promise<OpenPgpCertificateView> {
    return OpenPgpCertificateView.of(await this.certificates.revoke(caller, id, body.toOrder()));
  }
}
