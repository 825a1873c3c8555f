import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { createPublicKey } from 'node:crypto';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { Int, Moment, Nested, OneOf, Optional } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { NamedPageQuery } from '../../platform/http/page.js';
import { isMlDsa, KEY_TYPES, type KeyEvidence, type KeyType } from '../../hsm/key-vault.js';
import { Nullable } from '../../platform/http/body-shape.js';
import type { KeyConstraints } from './key-constraints.js';
import { KeyConstraintsBody } from './key-constraints.dto.js';
import { KEY_PURPOSES, type KeyPurpose, SIGNING_KEY_STATES, type SigningKeyState } from './signing-key.entity.js';
import type { KeyUsage, KeyVersion } from './signing-key.reader.js';
import type { SigningKeyWithVersion } from './signing-key-with-version.js';

/** Example key from RFC 7517 appendix A.1. */
const EXAMPLE_KEY = `-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEMKBCTNIcKUSDii11ySs3526iDZ8A\niTo7Tu6KPAqv7D7gS2XpJFbZiItSs3m9+9Ue6GnvHw/GW2ZZaVtszggXIw==\n-----END PUBLIC KEY-----\n`;

export class CreateSigningKeyBody {
  /** Name of the key: lowercase letters, digits, dots, hyphens and underscores. @example release-2027 */
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/, {
    message: 'must be 1 to 63 characters from a-z, 0-9, ".", "_" and "-", and start with a letter or digit',
  })
  name: string;
  @OneOf(KEY_TYPES, { example: 'ec-p256' }) type: KeyType;
  /** Purpose of the key, which cannot be changed. `signing` keys sign code and documents; `timestamping` and `certificates` keys never sign data from callers. */
  @Optional(OneOf(KEY_PURPOSES, { default: 'signing' })) purpose?: KeyPurpose = 'signing';
  /** Time from which the key can sign. @example 2027-01-01T00:00:00Z */
  @Optional(Moment()) notBefore?: Date;
  /** Time until which the key can sign. @example 2029-01-01T00:00:00Z */
  @Optional(Moment()) notAfter?: Date;
  @Optional(Nested(KeyConstraintsBody)) constraints?: KeyConstraintsBody;
}

export class ChangeSigningKeyBody {
  /** Time from which the key can sign. Set to `null` to remove the restriction. @example 2027-01-01T00:00:00Z */
  @Optional(Moment({ nullable: true })) @Nullable() notBefore?: Date | null;
  /** Time until which the key can sign. Set to `null` to remove the restriction. @example 2029-01-01T00:00:00Z */
  @Optional(Moment({ nullable: true })) @Nullable() notAfter?: Date | null;
  /** Replaces all constraints; {} removes them. */
  @Optional(Nested(KeyConstraintsBody)) constraints?: KeyConstraintsBody;
}

export const ACTIVATIONS = ['now', 'with-certificate'] as const;
export type Activation = (typeof ACTIVATIONS)[number];

export class RotateSigningKeyBody {
  /**
   * When the new version becomes active: `now`, or `with-certificate`, as soon as the version's certificate is imported, so that signing is not interrupted.
   * Defaults to `with-certificate` if the current version has a certificate, otherwise to `now`.
   */
  @Optional(OneOf(ACTIVATIONS)) activate?: Activation;
}

export class DestroySigningKeyBody {
  /** Number of days during which the destruction can still be cancelled. @example 30 */
  @Optional(Int(7, 30)) days?: number = 30;
}

export class KeyEvidenceView implements KeyEvidence {
  /** @example sealwright */
  tokenLabel: string;
  /** @example 9f2c1e5a7b3d4c60 */
  tokenSerial: string;
  /** @example 'SoftHSM v2' */
  tokenModel: string;
  /** CKA_LOCAL: true if the key was generated in the token. */
  local: boolean;
  sensitive: boolean;
  extractable: boolean;
  alwaysSensitive: boolean;
  neverExtractable: boolean;
}

export class KeyUsageView implements KeyUsage {
  /** Number of requests accepted today (UTC). @example 42 */
  today?: number;
  /** Number of requests accepted over the key's lifetime. @example 4711 */
  lifetime?: number;
}

export class SigningKeysQuery extends NamedPageQuery {
  @Optional(OneOf(SIGNING_KEY_STATES)) state?: SigningKeyState;
  @Optional(OneOf(KEY_PURPOSES)) purpose?: KeyPurpose;
  /** Only keys with this algorithm and size. */
  @Optional(OneOf(KEY_TYPES)) type?: KeyType;
}

export class SigningKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example release-2027 */
  name: string;
  type: KeyType;
  purpose: KeyPurpose;
  /** The active version. @example 1 */
  version: number;
  state: SigningKeyState;
  notBefore?: Date;
  notAfter?: Date;
  @ApiProperty({ type: KeyConstraintsBody }) constraints: KeyConstraints;
  /** Usage counts of a key with limits; absent in lists and for keys without limits. */
  usage?: KeyUsageView;
  /** SubjectPublicKeyInfo, PEM; absent until the key is generated. */
  @ApiProperty({ required: false, example: EXAMPLE_KEY }) publicKey?: string;
  /** Where the private key is stored: in the HSM, or in the database, encrypted with a key in the HSM after it was generated in software. */
  @ApiProperty({ enum: ['hsm', 'sealed-software'], example: 'hsm' }) protection: 'hsm' | 'sealed-software';
  /** Attributes of the private key that the token reported when the key was generated. */
  evidence?: KeyEvidenceView;
  /** Certificate of this version; see /api/v1/certificates. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  certificateId?: string;
  /** Time at which the certificate `certificateId` expires. */
  certificateExpiresAt?: Date;
  /** Time at which the private keys are destroyed. The destruction can be cancelled until then. @example 2027-02-01T00:00:00Z */
  destroyAt?: Date;
  /** Time at which the last private key was destroyed. @example 2027-02-01T00:00:01Z */
  destroyedAt?: Date;
  createdAt: Date;
  /** Revision of the settings that affect signing; also the ETag. @example 1 */
  revision: number;

  static of(key: SigningKeyWithVersion, usage?: KeyUsage): SigningKeyView {
    const { keyId: id, evidence, type } = key;
    return viewOf(SigningKeyView, present(key), {
      id,
      usage: usage !== undefined && Object.keys(usage).length > 0 ? usage : undefined,
      publicKey: pem(key.publicKey),
      protection: (evidence?.local ?? !isMlDsa(type)) ? 'hsm' : 'sealed-software',
    });
  }
}

export class SigningKeyPage extends PageOf(SigningKeyView) {}

const VERSION_STATES = ['GENERATING', 'NEXT', 'CURRENT', 'PREVIOUS', 'DESTROYED', 'FAILED'] as const;

export class KeyVersionView {
  /** @example 2 */
  version: number;
  /**
   * A `NEXT` version is waiting for its certificate. A `PREVIOUS` version does not sign new requests. Signatures made with `PREVIOUS` and `DESTROYED` versions
   * can still be verified.
   */
  state: (typeof VERSION_STATES)[number];
  /** SubjectPublicKeyInfo, PEM. @example "-----BEGIN PUBLIC KEY-----" */
  publicKey?: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  certificateId?: string;
  createdAt: Date;

  static of(key: KeyVersion): KeyVersionView {
    const { publicKey } = key;
    return viewOf(KeyVersionView, present(key), { state: versionState(key), publicKey: pem(publicKey) });
  }
}

export class KeyVersionList {
  items: KeyVersionView[];
}

function versionState({ version, current, publicKey, failedAt, destroyedAt }: KeyVersion): KeyVersionView['state'] {
  if (failedAt !== null) return 'FAILED';
  if (destroyedAt !== null) return 'DESTROYED';
  if (publicKey === null) return 'GENERATING';
  if (version === current) return 'CURRENT';
  return version > current ? 'NEXT' : 'PREVIOUS';
}

function pem(spki: Buffer | null): string | undefined {
  if (spki === null) return undefined;
  return createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }).toString();
}
