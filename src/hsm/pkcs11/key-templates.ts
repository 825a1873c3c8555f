import { CKA, CKM } from '../../formats/pkcs/cryptoki.js';
import { type CurveType, isCurve } from '../signatures/ecdsa.js';
import type { TokenKeyType } from '../key-vault.js';
import type { Template } from './pkcs11-token.js';
import { CURVE_PARAMS } from '../signatures/spki.js';

/** 65537, big-endian. */
const PUBLIC_EXPONENT = Buffer.from('010001', 'hex');
const RSA_BITS: Record<Exclude<TokenKeyType, CurveType>, number> = {
  'rsa-2048': 2048,
  'rsa-3072': 3072,
  'rsa-4096': 4096,
};

export interface GenerationPlan {
  /** Key generation mechanism (CKM_…). */
  readonly mechanism: number;
  readonly publicKey: Template;
  readonly privateKey: Template;
}

interface NewKey {
  readonly ckaId: Buffer;
  readonly label: string;
  readonly type: TokenKeyType;
  /** True if SHA-3 with RSA-PSS requires CKM_RSA_X_509; see TokenSigner. */
  readonly rawRsa: boolean;
}

/**
 * Returns the templates for a signing key pair. The private key never leaves the token and can only sign, using only the mechanisms that its schemes need
 * (CKA_ALLOWED_MECHANISMS).
 */
export function generationPlan(key: NewKey): GenerationPlan {
  const common: Template = [
    { type: CKA.TOKEN, value: true },
    { type: CKA.ID, value: key.ckaId },
    { type: CKA.LABEL, value: key.label },
  ];
  const publicKey: Template = [...common, { type: CKA.PRIVATE, value: false }, { type: CKA.VERIFY, value: true }];
  const privateKey: Template = [
    ...common,
    { type: CKA.PRIVATE, value: true },
    { type: CKA.SENSITIVE, value: true },
    { type: CKA.EXTRACTABLE, value: false },
    { type: CKA.SIGN, value: true },
  ];
  // Tokens have different defaults for the permitted uses of a key.
  const notFor = [CKA.DECRYPT, CKA.UNWRAP, CKA.SIGN_RECOVER].map((type) => ({ type, value: false }));
  if (isCurve(key.type)) {
    return {
      mechanism: CKM.EC_KEY_PAIR_GEN,
      publicKey: [...publicKey, { type: CKA.EC_PARAMS, value: CURVE_PARAMS[key.type] }],
      privateKey: [...privateKey, ...notFor, { type: CKA.DERIVE, value: false }, allowedMechanisms(CKM.ECDSA)],
    };
  }
  return {
    mechanism: CKM.RSA_PKCS_KEY_PAIR_GEN,
    publicKey: [
      ...publicKey,
      { type: CKA.MODULUS_BITS, value: RSA_BITS[key.type] },
      { type: CKA.PUBLIC_EXPONENT, value: PUBLIC_EXPONENT },
    ],
    privateKey: [
      ...privateKey,
      ...notFor,
      allowedMechanisms(CKM.RSA_PKCS, CKM.RSA_PKCS_PSS, ...(key.rawRsa ? [CKM.RSA_X_509] : [])),
    ],
  };
}

/** Returns CKA_ALLOWED_MECHANISMS, an array of CK_ULONG in the machine's byte order, 8 bytes each on 64-bit systems. */
export function allowedMechanisms(...mechanisms: number[]): { type: number; value: Buffer } {
  return { type: CKA.ALLOWED_MECHANISMS, value: Buffer.from(BigUint64Array.from(mechanisms.map(BigInt)).buffer) };
}
