import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength, ValidateIf } from 'class-validator';
import { present, viewOf } from '../platform/http/fields/view-of.js';
import { Flag, JsonObject, Moment, OneOf, Optional, QueryInt, Text } from '../platform/http/fields/fields.js';
import { PageOf } from '../platform/http/fields/page-of.js';
import { VerifiedIdentityView } from '../access/identity/identity.dto.js';
import {
  DIGEST_BYTES,
  SCHEMES,
  SIGNATURE_PURPOSES,
  type SignaturePurpose,
  type SignatureScheme,
} from '../hsm/key-vault.js';
import { IsBase64Text } from '../platform/http/field-rules.js';
import { PageQuery } from '../platform/http/page.js';
import { DIGEST_FORMATS, type SignatureFormat } from './formats/signature-format.js';
import type { ShownRequest } from './requests/signing-requests.reader.js';
import type { SigningOrder } from './requests/sign-request-validator.js';
import { SIGNING_STATUSES, type SigningStatus } from './signing-request.entity.js';

/** SignatureOptionsBody contains the fields shared by requests to sign one digest and requests to sign a batch. */
export abstract class SignatureOptionsBody {
  /** Digest algorithm. Other common names, such as SHA-256 and sha2-256, are also accepted. */
  @Optional(Text(0, 16, { enum: Object.keys(DIGEST_BYTES), default: 'sha256' })) algorithm?: string = 'sha256';
  /** Name or ID of the signing key. Defaults to the configured key. @example default */
  @Optional(Text(1, 64)) key?: string;
  /** Signature scheme. Defaults to PKCS #1 v1.5 for RSA keys and DER for EC keys. */
  @Optional(OneOf(SCHEMES)) scheme?: SignatureScheme;
  /** Purpose of the signature, which the key must support. If omitted, any key for code or documents is accepted. */
  @Optional(OneOf(SIGNATURE_PURPOSES)) purpose?: SignaturePurpose;
  /**
   * Whether to add an RFC 3161 timestamp over the signature. The response contains the timestamp in a separate field. If the format supports timestamps, the
   * timestamp is also embedded in the signature.
   */
  @Optional(Flag()) timestamp?: boolean = false;
  /** If true, the service responds with 202 immediately and signs in the background. */
  @Optional(Flag()) async?: boolean = false;

  protected options() {
    return {
      algorithm: this.algorithm ?? 'sha256',
      key: this.key,
      scheme: this.scheme,
      purpose: this.purpose,
      timestamp: this.timestamp ?? false,
      background: this.async ?? false,
    };
  }
}

export class SignDigestBody extends SignatureOptionsBody {
  /** Base64-encoded binary hash value, not a hex string. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @ValidateIf(({ content, digest }: SignDigestBody) => content === undefined || digest !== undefined)
  @IsString()
  @MaxLength(128)
  digest: string;
  /** Free-form descriptive data, up to 8 KB; `filename` names the artifact. */
  @Optional(JsonObject(8192, { example: { filename: 'app-1.2.0.tar.gz' } })) metadata?: Record<string, unknown>;
  /** Signature format. `raw` is the signature value without a container. */
  @Optional(OneOf(DIGEST_FORMATS, { default: 'raw' })) format?: SignatureFormat = 'raw';
  /** `authenticode`: base64-encoded output of `osslsigncode extract-data`, which contains the digest. `openpgp`: base64-encoded hashed part of the signature. @example MIIBHjCCARoGCisGAQQBgjcCAQQ= */
  @Optional(Text(1, 48_000)) content?: string;
  /** Client-defined reference for the request, included in every response. @example build-4711 */
  @Optional(Text(1, 200)) reference?: string;

  toOrder(idempotencyKey: string | undefined): SigningOrder {
    return {
      ...this.options(),
      digest: this.digest,
      format: this.format ?? 'raw',
      content: this.content,
      metadata: this.metadata ?? {},
      reference: this.reference ?? null,
      idempotencyKey,
    };
  }
}

export class SigningRequestsQuery extends PageQuery {
  @Optional(OneOf(SIGNING_STATUSES)) status?: SigningStatus;
  /** Base64-encoded hash of a file. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @IsOptional() @IsBase64Text() @MaxLength(128) digest?: string;
  /** Only requests with this `reference`. @example build-4711 */
  @Optional(Text(1, 200)) reference?: string;
  /** Only requests for the signing key with this name or ID. @example release */
  @Optional(Text(1, 64)) key?: string;
  /**
   * Only requests from this caller: the ID of a user, API key, OAuth client or workload run, the email address of a user, or the name of an API key or OAuth
   * client.
   * @example "release pipeline"
   */
  @Optional(Text(1, 320)) caller?: string;
  /** Only requests from the call with this X-Request-Id. @example 0b9a7a9e-4c3f-4f6e-9a51-0a6c1c1f5b1d */
  @Optional(Text(1, 200)) correlation?: string;
  /** Only requests created at or after this time. */
  @Optional(Moment()) from?: Date;
  /** Only requests created before this time. */
  @Optional(Moment()) to?: Date;
}

export class WaitQuery {
  /** Seconds to wait for a final status before responding. */
  @Optional(QueryInt(0, 30)) wait?: number;
}

export class KeyUsedView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example default */
  name: string;
  /** @example 1 */
  version: number;
}

export class SigningFailureView {
  /** @example hsm.unavailable */
  code: string;
  /** @example 'The HSM did not respond. Retry.' */
  detail: string;
}

export class SigningRequestView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  requestId: string;
  status: SigningStatus;
  /** Base64-encoded signature, or base64-encoded file that contains the signature (cms, authenticode: DER; jws: compact; sigstore-bundle, dsse, attestation: JSON; openpgp: the packet). Present if the status is SIGNED. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p3r5t7v9x1z3B5D7F9H1J3L5N7P9R1T3V5X8= */
  signature?: string;
  /** Base64-encoded TimeStampToken (DER). Present if a timestamp was requested; omitted from lists. @example MIIDrgYJKoZIhvcNAQcCoIIDnzCCA5s= */
  timestamp?: string;
  @ApiProperty({ enum: Object.keys(DIGEST_BYTES) }) algorithm: string;
  scheme: SignatureScheme;
  format: SignatureFormat;
  key: KeyUsedView;
  /** Certificates (DER, base64), starting with the key's certificate. Omitted from lists and for keys without a certificate. @example ["MIIBszCCAVmgAwIBAgIUQ0Zr"] */
  certificateChain?: string[];
  /** Base64-encoded hash value. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  digest: string;
  @ApiProperty({ type: 'object', additionalProperties: true, example: { filename: 'app-1.2.0.tar.gz' } })
  metadata: Record<string, unknown>;
  /** Verified claims of the caller's token. Present only for workloads. */
  verified?: VerifiedIdentityView;
  /** @example build-4711 */
  reference?: string;
  /** ID of the approval that the signing request requires. Present if a policy requires approval. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;
  /** Present if the status is FAILED. */
  failure?: SigningFailureView;
  createdAt: Date;
  finishedAt?: Date;

  static of(request: ShownRequest): SigningRequestView {
    const { id: requestId } = request;
    return viewOf(SigningRequestView, present(request), {
      requestId,
      signature: request.signature?.toString('base64'),
      timestamp: request.timestampToken?.toString('base64'),
      key: { id: request.keyId, name: request.keyName, version: request.keyVersion },
      certificateChain: request.chain?.map((der) => der.toString('base64')),
      digest: request.digest.toString('base64'),
      verified: request.identity === null ? undefined : VerifiedIdentityView.of(request.identity),
      failure:
        request.failureCode === null ? undefined : { code: request.failureCode, detail: request.failureDetail ?? '' },
    });
  }
}

export class SigningRequestPage extends PageOf(SigningRequestView) {}
