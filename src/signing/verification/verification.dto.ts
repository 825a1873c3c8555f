import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsString, IsUUID, Length, Max, MaxLength, Min, ValidateIf } from 'class-validator';
import { DIGEST_BYTES, SCHEMES, type SignatureScheme } from '../../hsm/key-vault.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { IsBase64Text } from '../../platform/http/field-rules.js';
import { subjectNameOf } from '../certificates/certificate-chain.js';
import { SIGNATURE_FORMATS, type SignatureFormat } from '../formats/signature-format.js';
import type { VerificationOrder } from './verification-subjects.js';
import type { CheckName, Verification } from './verification.service.js';

const MAX_BASE64 = 64_000;

export class VerifyBody {
  /** A signing request of yours: gives digest, algorithm, scheme, format and key, and the signature unless one is sent. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @IsOptional()
  @IsUUID()
  requestId?: string;

  /** Base64 of the hash value of the file. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @ValidateIf(({ requestId, digest }: VerifyBody) => requestId === undefined || digest !== undefined)
  @IsString()
  @MaxLength(128)
  digest?: string;

  @ApiProperty({ enum: Object.keys(DIGEST_BYTES), required: false, default: 'sha256' })
  @IsOptional()
  @IsString()
  @MaxLength(16)
  algorithm?: string = 'sha256';

  /** Base64 of the signature, or of the file that holds it, as signing answered it. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  @IsOptional()
  @IsBase64Text()
  @Length(4, MAX_BASE64)
  signature?: string;

  /** Name or id of the signing key; when absent, those that signed this digest, or the configured key. @example default */
  @IsOptional()
  @IsString()
  @Length(1, 64)
  key?: string;

  /** Version of the key; any when absent. @example 1 */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100_000)
  version?: number;

  @ApiProperty({ enum: SIGNATURE_FORMATS, required: false, default: 'raw' })
  @IsOptional()
  @IsIn(SIGNATURE_FORMATS)
  format?: SignatureFormat = 'raw';

  /** For the format raw: the usual one of the key when absent. */
  @ApiProperty({ enum: SCHEMES, required: false })
  @IsOptional()
  @IsIn(SCHEMES)
  scheme?: SignatureScheme;

  /** Base64 of a TimeStampToken (DER) over the signature, when it is not in the file. @example MIIDrgYJKoZIhvcNAQcCoIIDnzCCA5s= */
  @IsOptional()
  @IsBase64Text()
  @Length(4, MAX_BASE64)
  timestamp?: string;

  toOrder(): VerificationOrder {
    const { signature, timestamp, algorithm = 'sha256', format = 'raw' } = this;
    return {
      requestId: this.requestId,
      digest: this.digest,
      algorithm,
      scheme: this.scheme,
      format,
      key: this.key,
      version: this.version,
      signature: signature === undefined ? undefined : fromBase64(signature),
      timestamp: timestamp === undefined ? undefined : fromBase64(timestamp),
    };
  }
}

export class CheckView {
  @ApiProperty({ enum: ['signature', 'certificate', 'timestamp'], example: 'signature' })
  check: CheckName;
  /** @example true */
  ok: boolean;
  /** What was found, or why it does not hold. @example 'by version 1 of the key' */
  detail: string;
}

export class VerifyingKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example default */
  name: string;
  /** The version that made the signature. @example 1 */
  version?: number;
}

export class VerificationView {
  /** Every check holds. @example true */
  valid: boolean;
  @ApiProperty({ type: [CheckView] })
  checks: CheckView[];
  key: VerifyingKeyView;
  /** What the timestamp says, when there is one that holds. @example 2027-01-31T12:00:00Z */
  signedBefore?: Date;
  /** Subject of the certificate of the key. @example 'CN=Release signing, O=Example Ltd' */
  subject?: string;

  static of({ valid, checks, key, signedBefore, certificate }: Verification): VerificationView {
    return {
      valid,
      checks: [...checks],
      key: { id: key.id, name: key.name, version: key.version },
      signedBefore,
      subject: certificate === undefined ? undefined : subjectNameOf(certificate.subject),
    };
  }
}
