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
  /** 44, 65 or 87, if the type is ml-dsa. @example '65' */
  parameter_set?: string;
}

export class TransitSignItem {
  /** Base64 of the hash value with `prehashed`, else of at most 32 KB that are hashed here. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  input?: string;
  /** Base64; for derived keys, which are not supported. @example '' */
  context?: string;
  /** Of an item of a batch: echoed. @example build-4711 */
  reference?: string;
}

/** Names are Vault’s. Types are taken weakly, as Vault takes them: `"true"` for true, `"1"` for 1. Unknown fields are ignored. */
class TransitFields extends TransitSignItem {
  /** @example true */
  prehashed?: boolean;
  /** @example sha2-256 */
  hash_algorithm?: string;
  /** An older name of `hash_algorithm`. @example sha2-256 */
  algorithm?: string;
  /** The padding of RSA keys; pss when absent, as in Vault. */
  @ApiPropertyOptional({ enum: ['pss', 'pkcs1v15'], example: 'pkcs1v15' }) signature_algorithm?: string;
  @ApiPropertyOptional({ enum: ['asn1', 'jws'], example: 'asn1' }) marshaling_algorithm?: string;
  /** Of PSS: auto, hash, or the length of the hash in bytes. @example auto */
  salt_length?: string;
  /** The version that is to sign, which only the newest does; 0 is whichever that is. @example 0 */
  key_version?: number;
}

export class TransitSignBody extends TransitFields {
  /** Instead of `input`: up to 1,000 items, each with its own result. */
  batch_input?: TransitSignItem[];
}

export class TransitVerifyItem extends TransitSignItem {
  /** As sign answered it. @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
}

export class TransitVerifyBody extends TransitFields {
  /** As sign answered it. @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
  /** Instead of `input` and `signature`: up to 100 items, each with its own result. */
  batch_input?: TransitVerifyItem[];
}

export class TransitSignResult {
  /** @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature?: string;
  /** @example 1 */
  key_version?: number;
  /** Why this item was not signed. @example 'unable to decode input as base64' */
  error?: string;
  /** @example build-4711 */
  reference?: string;
}

export class TransitSignData extends TransitSignResult {
  /** For `batch_input`, in its order. */
  batch_results?: TransitSignResult[];
}

export class TransitSignView extends VaultAnswer {
  data: TransitSignData;
}

export class TransitVerifyResult {
  valid?: boolean;
  /** Reason for which this item was not verified. @example 'invalid base64 signature value' */
  error?: string;
  /** @example build-4711 */
  reference?: string;
}

export class TransitVerifyData extends TransitVerifyResult {
  /** For `batch_input`, in its order. */
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
  /** The only version that signs. @example 1 */
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
  /** By number: the public key, PEM. */
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

  /** Vault names the curve of a version as FIPS 186 does. */
  private static curveOf(type: string): string {
    return type.startsWith('ecdsa-p') ? type.replace('ecdsa-p', 'P-') : type;
  }
}

export class TransitKeyView extends VaultAnswer {
  data: TransitKeyData;
}

export class TransitExportParam extends TransitKeyParam {
  /** Only `public-key` leaves. @example public-key */
  @Text(1, 40) type: string;
}

export class TransitExportVersionParam extends TransitExportParam {
  /** A number, or `latest`. @example latest */
  @Matches(/^(?:latest|[1-9]\d{0,8})$/, { message: 'must be the number of a version, or latest' }) version: string;
}

export class TransitExportData {
  /** @example release-2027 */
  name: string;
  /** @example ecdsa-p256 */
  type: string;
  /** By number: the public key, PEM. */
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
