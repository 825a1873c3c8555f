import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length, MaxLength, ValidateIf } from 'class-validator';
import { IdRef, Int, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { DIGEST_BYTES, SCHEMES, type SignatureScheme } from '../../hsm/key-vault.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { IsBase64Text } from '../../platform/http/field-rules.js';
import { subjectNameOf } from '../certificates/certificate-chain.js';
import { SIGNATURE_FORMATS, type SignatureFormat } from '../formats/signature-format.js';
import type { VerificationOrder } from './verification-subjects.js';
import type { CheckName, Verification } from './verification.service.js';

const MAX_BASE64 = 64_000;

export class VerifyBody {
  /**
   * ID of one of your signing requests. The signing request provides the digest, algorithm, scheme, format and key, and also the signature unless you send a
   * signature. A value that differs from the signing request is rejected.
   * @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11
   */
  @Optional(IdRef()) requestId?: string;
  /** Base64-encoded hash of the file. For `openpgp`, hash the document, the hashed part of the signature and its trailer (RFC 9580 section 5.2.4). @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @ValidateIf(({ requestId, digest }: VerifyBody) => requestId === undefined || digest !== undefined)
  @IsString()
  @MaxLength(128)
  digest?: string;
  @Optional(Text(0, 16, { enum: Object.keys(DIGEST_BYTES), default: 'sha256' })) algorithm?: string;
  /** Base64-encoded signature, or base64-encoded file that contains the signature, as returned by the signing endpoints. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  @IsOptional() @IsBase64Text() @Length(4, MAX_BASE64) signature?: string;
  /** Name or ID of the signing key. Defaults to the keys that signed this digest; if there are none, to the configured key. @example default */
  @Optional(Text(1, 64)) key?: string;
  /** Version of the key. Defaults to any version. @example 1 */
  @Optional(Int(1, 100_000)) version?: number;
  @Optional(OneOf(SIGNATURE_FORMATS, { default: 'raw' })) format?: SignatureFormat;
  /** Signature scheme, for the format raw. Defaults to the scheme of the key. */
  @Optional(OneOf(SCHEMES)) scheme?: SignatureScheme;
  /** Base64-encoded TimeStampToken (DER) over the signature, if the file does not contain the token. @example MIIDrgYJKoZIhvcNAQcCoIIDnzCCA5s= */
  @IsOptional() @IsBase64Text() @Length(4, MAX_BASE64) timestamp?: string;

  toOrder(): VerificationOrder {
    const { signature, timestamp } = this;
    return {
      requestId: this.requestId,
      digest: this.digest,
      algorithm: this.algorithm,
      scheme: this.scheme,
      format: this.format,
      key: this.key,
      version: this.version,
      signature: signature === undefined ? undefined : fromBase64(signature),
      timestamp: timestamp === undefined ? undefined : fromBase64(timestamp),
    };
  }
}

export class CheckView {
  @ApiProperty({ enum: ['signature', 'certificate', 'timestamp'], example: 'signature' }) check: CheckName;
  /** @example true */
  ok: boolean;
  /** Result of the check, or the reason for its failure. @example 'made by version 1 of key release' */
  detail: string;
}

export class VerifyingKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example default */
  name: string;
  /** Version of the key that made the signature. @example 1 */
  version?: number;
}

export class VerificationView {
  /** True if every check passed. @example true */
  valid: boolean;
  @ApiProperty({ type: [CheckView] }) checks: CheckView[];
  key: VerifyingKeyView;
  /** Time in the timestamp, if the timestamp is valid. @example 2027-01-31T12:00:00Z */
  signedBefore?: Date;
  /** Subject of the key's certificate. @example 'CN=Release signing, O=Example Ltd' */
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
