import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { Text } from '../../platform/http/fields/fields.js';
import type { TransitKey } from './transit.service.js';
import { VaultAnswer } from './vault-system.dto.js';

export class TransitKeyParam {
  /** @example release-2027 */
  @Matches(/^\w[\w.-]{0,199}$/) name: string;
}

export class TransitHashParam extends TransitKeyParam {
  /** @example sha2-256 */
  @Text(1, 40) hash: string;
}

export class TransitNewKeyBody {
  /** @example ecdsa-p256 */
  type?: string;
  /** Parameter set (44, 65 or 87), if the type is ml-dsa. @example '65' */
  parameter_set?: string;
}

export class TransitSignItem {
  /** Base64-encoded hash value if `prehashed` is set; otherwise, up to 32 KB of base64-encoded data that the service hashes. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  input?: string;
  /** Base64. Only for derived keys, which are not supported. @example '' */
  context?: string;
  /** Client-defined reference for the item, included in its result. @example build-4711 */
  reference?: string;
}

/** Field names are Vault’s. Types are coerced as in Vault: `"true"` for true, `"1"` for 1. Unknown fields are ignored. */
class TransitFields extends TransitSignItem {
  /** @example true */
  prehashed?: boolean;
  /** @example sha2-256 */
  hash_algorithm?: string;
  /** Older name for `hash_algorithm`. @example sha2-256 */
  algorithm?: string;
  /** Padding of RSA signatures. Defaults to pss, as in Vault. */
  @ApiPropertyOptional({ enum: ['pss', 'pkcs1v15'], example: 'pkcs1v15' }) signature_algorithm?: string;
  @ApiPropertyOptional({ enum: ['asn1', 'jws'], example: 'asn1' }) marshaling_algorithm?: string;
  /** Length of the PSS salt: auto, hash, or the length of the hash in bytes. @example auto */
  salt_length?: string;
  /** Key version to sign with. Only the newest version can sign; 0 selects the newest version. @example 0 */
  key_version?: number;
}

export class TransitSignBody extends TransitFields {
  /** Replaces `input` with up to 1,000 items, each with its own result. */
  batch_input?: TransitSignItem[];
}

export class TransitVerifyItem extends TransitSignItem {
  /** Signature in the format returned by `sign`. @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
}

export class TransitVerifyBody extends TransitFields {
  /** Signature in the format returned by `sign`. @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
  /** Replaces `input` and `signature` with up to 100 items, each with its own result. */
  batch_input?: TransitVerifyItem[];
}

export class TransitSignResult {
  /** @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
  /** @example 1 */
  key_version?: number;
  /** Reason why this item was not signed. @example 'unable to decode input as base64' */
  error?: string;
  /** @example build-4711 */
  reference?: string;
}

export class TransitSignData extends TransitSignResult {
  /** Results for `batch_input`, in the same order. */
  batch_results?: TransitSignResult[];
}

export class TransitSignView extends VaultAnswer {
  data: TransitSignData;
}

export class TransitVerifyResult {
  valid?: boolean;
  /** Reason why this item was not verified. @example 'invalid base64 signature value' */
  error?: string;
  /** @example build-4711 */
  reference?: string;
}

export class TransitVerifyData extends TransitVerifyResult {
  /** Results for `batch_input`, in the same order. */
  batch_results?: TransitVerifyResult[];
}

export class TransitVerifyView extends VaultAnswer {
  data: TransitVerifyData;
}

export class TransitKeyNames {
  /** @example ["release-2027"] */
  keys: string[];
}

export class TransitKeysView extends VaultAnswer {
  data: TransitKeyNames;
}

export class TransitKeyData {
  /** @example release-2027 */
  name: string;
  /** @example ecdsa-p256 */
  type: string;
  /** @example 1 */
  latest_version: number;
  /** @example 1 */
  min_available_version: number;
  /** @example 1 */
  min_decryption_version: number;
  /** The only version that can sign. @example 1 */
  min_encryption_version: number;
  supports_signing: boolean;
  supports_encryption: boolean;
  supports_decryption: boolean;
  supports_derivation: boolean;
  derived: boolean;
  exportable: boolean;
  allow_plaintext_backup: boolean;
  deletion_allowed: boolean;
  imported_key: boolean;
  /** @example 0 */
  auto_rotate_period: number;
  /** Public keys (PEM) by version. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { '1': { name: 'P-256', public_key: '-----BEGIN PUBLIC KEY-----' } },
  })
  keys: Record<string, { name: string; public_key: string; creation_time: Date; certificate_chain: string }>;

  static of({ name, type, latest, versions }: TransitKey): TransitKeyData {
    const keys = versions.map(({ version, publicKey, createdAt }) => [
      String(version),
      { name: TransitKeyData.curveOf(type), public_key: publicKey, creation_time: createdAt, certificate_chain: '' },
    ]);
    return {
      name,
      type,
      latest_version: latest,
      keys: Object.fromEntries(keys),
      min_available_version: 0,
      min_decryption_version: 1,
      min_encryption_version: latest,
      supports_signing: true,
      supports_encryption: false,
      supports_decryption: false,
      supports_derivation: false,
      derived: false,
      exportable: false,
      allow_plaintext_backup: false,
      deletion_allowed: false,
      imported_key: false,
      auto_rotate_period: 0,
    };
  }

  /** Returns the curve name of FIPS 186, which Vault uses in key versions. */
  private static curveOf(type: string): string {
    return type.startsWith('ecdsa-p') ? type.replace('ecdsa-p', 'P-') : type;
  }
}

export class TransitKeyView extends VaultAnswer {
  data: TransitKeyData;
}

export class TransitExportParam extends TransitKeyParam {
  /** Only `public-key` is supported. @example public-key */
  @Text(1, 40) type: string;
}

export class TransitExportVersionParam extends TransitExportParam {
  /** Version number, or `latest`. @example latest */
  @Matches(/^(?:latest|[1-9]\d{0,8})$/, { message: 'must be a version number or latest' }) version: string;
}

export class TransitExportData {
  /** @example release-2027 */
  name: string;
  /** @example ecdsa-p256 */
  type: string;
  /** Public keys (PEM) by version. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { '1': '-----BEGIN PUBLIC KEY-----' },
  })
  keys: Record<string, string>;
}

export class TransitExportView extends VaultAnswer {
  data: TransitExportData;
}
