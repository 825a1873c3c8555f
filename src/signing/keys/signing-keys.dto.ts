import { ApiProperty } from '@nestjs/swagger';
import { IsIn, Matches } from 'class-validator';
import { createPublicKey } from 'node:crypto';
import { KEY_TYPES, type KeyEvidence, type KeyType } from '../../hsm/key-vault.js';
import type { Page } from '../../platform/http/page.js';
import { SIGNING_KEY_STATES, type SigningKeyState } from './signing-key-state.js';
import type { SigningKeyWithVersion } from './signing-key.reader.js';

/** The example key of RFC 7517 appendix A.1. */
const EXAMPLE_KEY = `-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEMKBCTNIcKUSDii11ySs3526iDZ8A\niTo7Tu6KPAqv7D7gS2XpJFbZiItSs3m9+9Ue6GnvHw/GW2ZZaVtszggXIw==\n-----END PUBLIC KEY-----\n`;

export class CreateSigningKeyBody {
  /** Lower-case letters, digits, dots, dashes, underscores. @example release-2027 */
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/, {
    message: 'must be 1 to 63 of a-z, 0-9, ".", "_", "-" and start with a letter or digit',
  })
  name: string;

  @ApiProperty({ enum: KEY_TYPES, example: 'ec-p256' })
  @IsIn(KEY_TYPES)
  type: KeyType;
}

export class KeyEvidenceView implements KeyEvidence {
  /** @example sealwright */
  tokenLabel: string;
  /** @example 9f2c1e5a7b3d4c60 */
  tokenSerial: string;
  /** @example 'SoftHSM v2' */
  tokenModel: string;
  /** CKA_LOCAL: the token made the key itself. */
  local: boolean;
  sensitive: boolean;
  extractable: boolean;
  alwaysSensitive: boolean;
  neverExtractable: boolean;
}

export class SigningKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example release-2027 */
  name: string;
  @ApiProperty({ enum: KEY_TYPES })
  type: KeyType;
  /** The version that signs. @example 1 */
  version: number;
  @ApiProperty({ enum: SIGNING_KEY_STATES })
  state: SigningKeyState;
  /** SubjectPublicKeyInfo, PEM; absent until the key is made. */
  @ApiProperty({ required: false, example: EXAMPLE_KEY })
  publicKey?: string;
  /** What the token said of the private key when it was made. */
  evidence?: KeyEvidenceView;
  createdAt: Date;

  static of(key: SigningKeyWithVersion): SigningKeyView {
    const { keyId: id, name, type, version, state, createdAt, evidence } = key;
    return {
      id,
      name,
      type,
      version,
      state,
      publicKey: pem(key.publicKey),
      evidence: evidence ?? undefined,
      createdAt,
    };
  }
}

export class SigningKeyPage {
  items: SigningKeyView[];
  /** null on the last page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(page: Page<SigningKeyWithVersion>): SigningKeyPage {
    return { items: page.items.map((key) => SigningKeyView.of(key)), nextCursor: page.nextCursor };
  }
}

function pem(spki: Buffer | null): string | undefined {
  if (spki === null) return undefined;
  return createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }).toString();
}
