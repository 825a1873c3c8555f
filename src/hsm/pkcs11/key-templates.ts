import { CKA, CKM } from './pkcs11-codes.js';
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
  /** CKM_ of the generation. */
  readonly mechanism: number;
  readonly publicKey: Template;
  readonly privateKey: Template;
}

interface NewKey {
  readonly ckaId: Buffer;
  readonly label: string;
  readonly type: TokenKeyType;
  /** True when SHA-3 with RSA-PSS needs CKM_RSA_X_509, see TokenSigner. */
  readonly rawRsa: boolean;
}

/**
 * Templates of a signing key pair: it stays in the token, signs and does nothing else, and only by the mechanisms that
 * its schemes need (CKA_ALLOWED_MECHANISMS).
 */
export function generationPlan(key: NewKey): GenerationPlan {
  const common: Template = [
    { type: CKA.token, value: true },
    { type: CKA.id, value: key.ckaId },
    { type: CKA.label, value: key.label },
  ];
  const publicKey: Template = [...common, { type: CKA.private, value: false }, { type: CKA.verify, value: true }];
  const privateKey: Template = [
    ...common,
    { type: CKA.private, value: true },
    { type: CKA.sensitive, value: true },
    { type: CKA.extractable, value: false },
    { type: CKA.sign, value: true },
  ];
  // Tokens differ in what they allow a key of either kind when nothing is said.
  const notFor = [CKA.decrypt, CKA.unwrap, CKA.signRecover].map((type) => ({ type, value: false }));
  if (isCurve(key.type)) {
    return {
      mechanism: CKM.ecKeyPairGen,
      publicKey: [...publicKey, { type: CKA.ecParams, value: CURVE_PARAMS[key.type] }],
      privateKey: [...privateKey, ...notFor, { type: CKA.derive, value: false }, allowedMechanisms(CKM.ecdsa)],
    };
  }
  return {
    mechanism: CKM.rsaKeyPairGen,
    publicKey: [
      ...publicKey,
      { type: CKA.modulusBits, value: RSA_BITS[key.type] },
      { type: CKA.publicExponent, value: PUBLIC_EXPONENT },
    ],
    privateKey: [
      ...privateKey,
      ...notFor,
      allowedMechanisms(CKM.rsaPkcs, CKM.rsaPss, ...(key.rawRsa ? [CKM.rsaX509] : [])),
    ],
  };
}

/** CKA_ALLOWED_MECHANISMS is an array of CK_ULONG in the machine's byte order, 8 bytes each on 64-bit systems. */
export function allowedMechanisms(...mechanisms: number[]): { type: number; value: Buffer } {
  return { type: CKA.allowedMechanisms, value: Buffer.from(BigUint64Array.from(mechanisms.map(BigInt)).buffer) };
}
