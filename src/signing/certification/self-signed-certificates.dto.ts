import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsOptional, ValidateNested } from 'class-validator';
import { IsDateTime } from '../../platform/http/field-rules.js';
import { CertificateView, DistinguishedNameBody } from '../certificates/certificates.dto.js';
import { SIGNING_STATUSES, type SigningStatus } from '../model/signing-request.entity.js';
import type { SelfSignedCertificate } from './self-signed-certificates.service.js';

export class SelfSignedCertificateBody {
  @ValidateNested()
  @Type(() => DistinguishedNameBody)
  subject: DistinguishedNameBody;

  /** The end of the certificate; without it the end of the key, or none (RFC 5280 section 4.1.2.5). @example 2036-01-01T00:00:00Z */
  @IsOptional()
  @IsDateTime()
  notAfter?: Date;
}

export class SelfSignedCertificateView {
  /** That of the signing request: the certificate is there when it is SIGNED. */
  @ApiProperty({ enum: SIGNING_STATUSES })
  status: SigningStatus;
  /** See /api/v1/sign/requests. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  requestId: string;
  /** The approval that it waits for, or was released by. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;
  certificate?: CertificateView;

  static of({ request, certificate }: SelfSignedCertificate): SelfSignedCertificateView {
    const { id: requestId, status, approvalId } = request;
    const shown = certificate === undefined ? undefined : CertificateView.of(certificate);
    return { status, requestId, approvalId: approvalId ?? undefined, certificate: shown };
  }
}
