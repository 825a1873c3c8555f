import { ApiProperty } from '@nestjs/swagger';
import { Flag, JsonObject, ListOf, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { DIGEST_BYTES, SCHEMES, type SignatureScheme } from '../../hsm/key-vault.js';
import { DIGEST_FORMATS, type SignatureFormat } from '../formats/signature-format.js';
import { KeyUsedView, SignatureOptionsBody, SigningFailureView } from '../signing-requests.dto.js';
import { SIGNING_STATUSES } from '../signing-request.entity.js';
import type { BatchItem, ShownBatch } from './signing-batches.reader.js';
import type { BatchOrder } from './signing-batches.service.js';

export const MAX_BATCH_ITEMS = 1000;

const BATCH_FORMATS = DIGEST_FORMATS.filter((one) => !['authenticode', 'openpgp'].includes(one));

export class BatchItemBody {
  /** Base64-encoded binary hash value. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @Text(0, 128) digest: string;
  /** Client-defined reference for the item, included in its result. @example build-4711/app.exe */
  @Optional(Text(1, 200)) reference?: string;
  /** Free-form descriptive data, up to 1 KB; `filename` names the artifact. */
  @Optional(JsonObject(1024, { example: { filename: 'app-1.2.0.tar.gz' } })) metadata?: Record<string, unknown>;
  /** Digest algorithm of this item. Defaults to the batch's algorithm. */
  @Optional(Text(0, 16, { enum: Object.keys(DIGEST_BYTES) })) algorithm?: string;
  /** Signature scheme of this item. Defaults to the batch's scheme. */
  @Optional(OneOf(SCHEMES)) scheme?: SignatureScheme;
  /** Format of this item. Defaults to the batch's format. */
  @Optional(OneOf(BATCH_FORMATS)) format?: SignatureFormat;
  /** Whether this item gets a timestamp. Defaults to the batch's setting. */
  @Optional(Flag()) timestamp?: boolean;
}

export class SignBatchBody extends SignatureOptionsBody {
  /** 1 to 1,000 items to be signed. */
  @ListOf(BatchItemBody, { min: 1, max: MAX_BATCH_ITEMS }) items: BatchItemBody[];
  /** `authenticode` and `openpgp` need more than a digest and cannot be signed in a batch. */
  @Optional(OneOf(BATCH_FORMATS, { default: 'raw' })) format?: SignatureFormat = 'raw';

  toOrder(idempotencyKey: string | undefined): BatchOrder {
    const common = { ...this.options(), format: this.format ?? 'raw' };
    const orders = this.items.map(({ digest, reference = null, metadata = {}, ...own }) => ({
      algorithm: own.algorithm ?? common.algorithm,
      key: common.key,
      scheme: own.scheme ?? common.scheme,
      purpose: common.purpose,
      format: own.format ?? common.format,
      timestamp: own.timestamp ?? common.timestamp,
      background: common.background,
      digest,
      reference,
      metadata,
    }));
    return { orders, background: common.background, idempotencyKey };
  }
}

export class SignDualBody {
  /** Base64-encoded binary hash value that both keys sign. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @Text(0, 128) digest: string;
  @Optional(Text(0, 16, { enum: Object.keys(DIGEST_BYTES), default: 'sha256' })) algorithm?: string = 'sha256';
  /** Name or ID of an RSA or EC key. Defaults to the configured key. @example default */
  @Optional(Text(1, 64)) key?: string;
  /** Name or ID of an ML-DSA key. @example release-pq */
  @Text(1, 64) postQuantumKey: string;
  /** Free-form descriptive data, up to 1 KB; `filename` names the artifact. */
  @Optional(JsonObject(1024, { example: { filename: 'app-1.2.0.tar.gz' } })) metadata?: Record<string, unknown>;
  /** Client-defined reference for the request. @example build-4711 */
  @Optional(Text(1, 200)) reference?: string;
  /** If true, the service responds with 202 immediately and signs in the background. */
  @Optional(Flag()) async?: boolean = false;

  toOrder(idempotencyKey: string | undefined): BatchOrder {
    const background = this.async ?? false;
    const { digest, algorithm = 'sha256', reference = null, metadata = {} } = this;
    const common = { digest, algorithm, reference, metadata, format: 'raw', timestamp: false, background } as const;
    const orders = [this.key, this.postQuantumKey].map((key) => ({ ...common, key }));
    return { orders, background, idempotencyKey };
  }
}

const ITEM_STATUSES = [...SIGNING_STATUSES, 'REFUSED'] as const;

export class BatchItemView {
  /** Index of the item in the request, starting at 0. @example 0 */
  index: number;
  /** `REFUSED` means that the item was rejected and has no signing request. */
  status: (typeof ITEM_STATUSES)[number];
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  requestId?: string;
  /** @example build-4711/app.exe */
  reference?: string;
  scheme?: SignatureScheme;
  key?: KeyUsedView;
  /** Signature, base64. Present if the status is SIGNED. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
  /** Base64-encoded TimeStampToken (DER). Present if a timestamp was requested. @example MIIDrgYJKoZIhvcNAQcCoIIDnzCCA5s= */
  timestamp?: string;
  /** ID of the approval, which is shared by all items of the batch that need approval. Present if a policy requires approval. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;
  /** Present if the status is FAILED or REFUSED. */
  failure?: SigningFailureView;

  static of({ signature, timestampToken, reference, approvalId, ...item }: BatchItem): BatchItemView {
    return {
      ...item,
      reference: reference ?? undefined,
      approvalId: approvalId ?? undefined,
      signature: signature?.toString('base64'),
      timestamp: timestampToken?.toString('base64'),
    };
  }
}

export class SigningBatchView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  batchId: string;
  /** `DONE` means that every item has a final result. */
  @ApiProperty({ enum: ['PENDING', 'DONE'] }) status: 'PENDING' | 'DONE';
  /** @example 1000 */
  size: number;
  /** Results in the order of the request. */
  @ApiProperty({ type: [BatchItemView] }) items: BatchItemView[];
  createdAt: Date;

  static of({ batch, items, done }: ShownBatch): SigningBatchView {
    return {
      batchId: batch.id,
      status: done ? 'DONE' : 'PENDING',
      size: batch.size,
      items: items.map((item) => BatchItemView.of(item)),
      createdAt: batch.createdAt,
    };
  }
}
