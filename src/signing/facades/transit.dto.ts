import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Matches, Max, Min } from 'class-validator';
import { WholeNumber } from '../../platform/http/whole-number.js';
import type { TransitKey, TransitOrder } from './transit.service.js';

export class TransitKeyParam {
  /** @example release-2027 */
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/)
  name: string;
}

export class TransitHashParam extends TransitKeyParam {
  /** @example sha2-256 */
  @Length(1, 16)
  @IsString()
  hash: string;
}

/** Names are Vault's. */
export class TransitSignBody {
  /** Base64 of the hash value with `prehashed`, else of at most 32 KB that are hashed here. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @IsString()
  @Length(1, 44_000)
  input: string;

  /** @example true */
  @IsOptional()
  @IsBoolean()
  prehashed?: boolean = false;

  /** @example sha2-256 */
  @IsOptional()
  @IsString()
  @Length(1, 16)
  hash_algorithm?: string = 'sha2-256';

  /** The padding of RSA keys; pss when absent, as in Vault. */
  @ApiPropertyOptional({ enum: ['pss', 'pkcs1v15'], example: 'pkcs1v15' })
  @IsOptional()
  @IsIn(['pss', 'pkcs1v15'])
  signature_algorithm?: 'pss' | 'pkcs1v15';

  @ApiPropertyOptional({ enum: ['asn1', 'jws'], example: 'asn1' })
  @IsOptional()
  @IsIn(['asn1', 'jws'])
  marshaling_algorithm?: 'asn1' | 'jws';

  /** The version that is to sign, which only the newest does; 0 is whichever that is. cosign and jsign send the number as a text. @example 0 */
  @IsOptional()
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(100_000)
  key_version?: number = 0;

  toOrder(hash = this.hash_algorithm ?? 'sha2-256'): TransitOrder {
    return {
      input: this.input,
      prehashed: this.prehashed ?? false,
      hash,
      padding: this.signature_algorithm,
      marshaling: this.marshaling_algorithm,
      version: this.key_version ?? 0,
    };
  }
}

export class TransitVerifyBody extends TransitSignBody {
  /** As sign answered it. @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  @IsString()
  @Length(1, 2000)
  signature: string;
}

export class TransitSignature {
  /** @example vault:v1:MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  signature: string;
  /** @example 1 */
  key_version: number;
}

export class TransitSignView {
  data: TransitSignature;
}

export class TransitValidity {
  /** @example true */
  valid: boolean;
}

export class TransitVerifyView {
  data: TransitValidity;
}

export class TransitKeyData {
  /** @example release-2027 */
  name: string;
  /** @example ecdsa-p256 */
  type: string;
  /** @example 1 */
  latest_version: number;
  /** @example true */
  supports_signing: boolean;
  /** By number: the public key, PEM. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { '1': { name: 'ecdsa-p256', public_key: '-----BEGIN PUBLIC KEY-----' } },
  })
  keys: Record<string, { name: string; public_key: string; creation_time: Date }>;
}

export class TransitKeyView {
  data: TransitKeyData;

  static of({ name, type, latest, versions }: TransitKey): TransitKeyView {
    const keys = versions.map(({ version, publicKey, createdAt }) => [
      String(version),
      { name: type, public_key: publicKey, creation_time: createdAt },
    ]);
    return { data: { name, type, latest_version: latest, supports_signing: true, keys: Object.fromEntries(keys) } };
  }
}
