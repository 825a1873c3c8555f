import { ApiProperty } from '@nestjs/swagger';
import { createPublicKey } from 'node:crypto';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { IdRef, OneOf, Optional, QueryInt } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import type { LogCheckpoint } from './log.entity.js';
import type { MadeLogKey } from './log-keys.js';
import type { ConsistencyProof, InclusionProof } from './log-reader.js';

export class CheckpointQuery {
  /** Number of leaves in the tree. Defaults to the size of the newest checkpoint. */
  @Optional(QueryInt(1)) size?: number;
}

export class InclusionQuery extends CheckpointQuery {
  /** ID of an audit entry. */
  @IdRef() entry: string;
  /** Leaf to prove: the entry itself, or the record of its signature. */
  @Optional(OneOf(['entry', 'record'])) leaf?: 'entry' | 'record';
}

export class ConsistencyQuery {
  /** Number of leaves in the smaller log. */
  @QueryInt(0) first: number;
  /** Number of leaves in the larger log. Defaults to the size of the newest checkpoint. */
  @Optional(QueryInt(0)) second?: number;
}

export class LogKeyView {
  /** Name of the log in its checkpoints. @example localhost:9090/log */
  origin: string;
  /** SubjectPublicKeyInfo, PEM. @example '-----BEGIN PUBLIC KEY-----…' */
  publicKey: string;
  /** Attributes of the private key, as reported by the token. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { tokenModel: 'SoftHSM v2', sensitive: true } })
  evidence: object;
  createdAt: Date;

  static of({ origin, publicKey, evidence, createdAt }: MadeLogKey): LogKeyView {
    const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
    const pem = key.export({ format: 'pem', type: 'spki' }).toString();
    return { origin, publicKey: pem, evidence: evidence ?? {}, createdAt };
  }
}

export class CheckpointView {
  /** Number of leaves in the tree. @example 4711 */
  size: number;
  /** Root of the tree, base64. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  root: string;
  /** Signed note (C2SP tlog-checkpoint). @example "localhost:9090/log\n4711\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— localhost:9090/log …\n" */
  note: string;
  at: Date;

  static of({ size, root, note, at }: LogCheckpoint): CheckpointView {
    return { size: Number(size), root: root.toString('base64'), note, at };
  }
}

export class CheckpointPage extends PageOf(CheckpointView) {}

export class InclusionView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  entryId: string;
  /** `missing`: the entry was removed before its leaf was appended. `foreign`: the service did not write the entry. */
  kind: 'entry' | 'record' | 'missing' | 'foreign';
  /** Index of the leaf, starting at 0. @example 17 */
  index: number;
  /** Number of leaves in the tree. @example 4711 */
  size: number;
  /** Data of the leaf, base64; null if the entry no longer exists. @example eyJhY3Rpb24iOiJzaWduaW5nLnNpZ25lZCJ9 */
  data: string | null;
  /** SHA-256 of 0x00 followed by the leaf data, base64. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  hash: string;
  /** Merkle audit path from the leaf to the root, base64 (RFC 6962 section 2.1.1). @example ["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] */
  path: string[];
  /** Signed checkpoint of the tree; null if the request specified a tree size. @example "localhost:9090/log\n4711\n…" */
  checkpoint: string | null;

  static of(row: InclusionProof): InclusionView {
    const { data, hash, path, note } = row;
    return viewOf(InclusionView, row, {
      data: data === undefined ? null : Buffer.from(data).toString('base64'),
      hash: hash.toString('base64'),
      path: path.map((one) => one.toString('base64')),
      checkpoint: note ?? null,
    });
  }
}

export class ConsistencyView {
  /** @example 17 */
  first: number;
  /** @example 4711 */
  second: number;
  /** Merkle consistency proof, base64 (RFC 6962 section 2.1.2). @example ["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] */
  path: string[];

  static of({ first, second, path }: ConsistencyProof): ConsistencyView {
    return { first, second, path: path.map((one) => one.toString('base64')) };
  }
}
