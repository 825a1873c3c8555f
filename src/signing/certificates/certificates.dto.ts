import { IsOptional, Matches, MaxLength } from 'class-validator';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { Int, Moment, Nested, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { PageQuery } from '../../platform/http/page.js';
import type { Certificate } from './certificate.entity.js';
import { writePem } from '../../formats/encoding/base64.js';
import type { SigningRequest, SigningStatus } from '../signing-request.entity.js';

const DAY_MS = 24 * 3600 * 1000;

export class ChainBody {
  /** PEM of the certificate and its issuers, in any order. @example "-----BEGIN CERTIFICATE-----" */
  @Text(1, 48_000) chain: string;
}

/**
 * Validates names in certificates and certification requests. A certification request is signed without approval, so it must not also be a valid script.
 * Control characters, quotes, angle brackets and other characters with a special meaning for shells and interpreters are rejected.
 */
const IsNameInCertificate = () =>
  Matches(/^[\p{L}\p{M}\p{N} '()+,./:=?@&_*!#-]+$/u, {
    message: "must contain only letters, digits, spaces and '()+,./:=?@&_*!#-",
  });

export class DistinguishedNameBody {
  /** @example "Release signing" */
  @Text(1, 64) @IsNameInCertificate() commonName: string;
  /** @example Example Ltd */
  @Optional(Text(1, 64)) @IsNameInCertificate() organization?: string;
  /** @example Releases */
  @Optional(Text(1, 64)) @IsNameInCertificate() organizationalUnit?: string;
  /** @example Zurich */
  @Optional(Text(1, 128)) @IsNameInCertificate() locality?: string;
  /** @example Zurich */
  @Optional(Text(1, 128)) @IsNameInCertificate() state?: string;
  /** Two-letter country code (ISO 3166). @example GB */
  @IsOptional() @Matches(/^[A-Z]{2}$/, { message: 'must be two uppercase letters' }) @MaxLength(2) country?: string;
}

export class CertificationRequestBody {
  @Nested(DistinguishedNameBody) subject: DistinguishedNameBody;
  /** Key version that signs the request. Defaults to the newest version. @example 1 */
  @Optional(Int(1, 100_000)) version?: number;
}

export class CertificationRequestView {
  /** PKCS #10 request, PEM. @example "-----BEGIN CERTIFICATE REQUEST-----" */
  csr: string;
}

export class CertificateView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** Distinguished name (RFC 4514). @example "CN=Release signing, O=Example Ltd" */
  subject: string;
  /** @example "CN=Release CA" */
  issuer: string;
  /** @example 0a1b2c3d */
  serialNumber: string;
  /** SHA-256 of the certificate, hexadecimal. @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 */
  fingerprint: string;
  notBefore: Date;
  notAfter: Date;
  /** Whole days until notAfter; negative if notAfter has passed. @example 364 */
  daysLeft: number;
  /** @example ["code-signing"] */
  purposes: string[];
  /** ID of the signing key. Absent for the certificate of an external key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  keyId?: string;
  /** @example 1 */
  keyVersion?: number;
  /** Certificates (PEM), starting with this certificate. @example ["MIIBszCCAVmgAwIBAgIUQ0Zr"] */
  chain: string[];
  createdAt: Date;

  static of(row: Certificate, now = new Date()): CertificateView {
    const { notAfter } = row;
    return viewOf(CertificateView, present(row), {
      fingerprint: row.fingerprint.toString('hex'),
      daysLeft: Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS),
      chain: row.chain.map((der) => writePem('CERTIFICATE', der)),
    });
  }
}

/** Periods in which certificates expire, for `expires`. */
const EXPIRY_PERIODS = ['this-month'] as const;

export class CertificatesQuery extends PageQuery {
  /** Only certificates that expire before this time. */
  @Optional(Moment()) expiresBefore?: Date;
  /** Only certificates that expire at or after this time. */
  @Optional(Moment()) expiresAfter?: Date;
  /** `this-month`: only certificates that expire in the current calendar month (UTC), including those that have already expired. */
  @Optional(OneOf(EXPIRY_PERIODS)) expires?: (typeof EXPIRY_PERIODS)[number];
  /** Only certificates of the signing key with this name or ID. @example release */
  @Optional(Text(1, 64)) key?: string;
  /** Only certificates whose subject contains this text, ignoring case. @example "O=Example Ltd" */
  @Optional(Text(1, 200)) subject?: string;
}

export class CertificatePage extends PageOf(CertificateView) {}

export class SelfSignedCertificateBody {
  @Nested(DistinguishedNameBody) subject: DistinguishedNameBody;
  /** Expiry of the certificate. Defaults to the key's expiry, or to no expiry (RFC 5280 section 4.1.2.5). @example 2036-01-01T00:00:00Z */
  @Optional(Moment()) notAfter?: Date;
}

export class SelfSignedCertificateView {
  /** Status of the signing request. The certificate exists once the status is SIGNED. */
  status: SigningStatus;
  /** ID of the signing request; see /api/v1/sign/requests. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  requestId: string;
  /** ID of the approval that the signing request requires. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;
  certificate?: CertificateView;

  static of({
    request,
    certificate,
  }: {
    readonly request: Pick<SigningRequest, 'id' | 'status' | 'approvalId'>;
    readonly certificate?: Certificate;
  }): SelfSignedCertificateView {
    const { id: requestId, status, approvalId } = request;
    const shown = certificate === undefined ? undefined : CertificateView.of(certificate);
    return { status, requestId, approvalId: approvalId ?? undefined, certificate: shown };
  }
}
