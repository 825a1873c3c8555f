import type { DigestAlgorithm } from '../key-vault.js';

/** Numbers of PKCS#11 (v2.40 and v3.0 header files) that the key process uses. */
export const CKO = { data: 0x00, publicKey: 0x02, privateKey: 0x03, secretKey: 0x04 } as const;
export const CKK = { rsa: 0x00, ec: 0x03, aes: 0x1f } as const;

export const CKA = {
  class: 0x000,
  token: 0x001,
  private: 0x002,
  label: 0x003,
  application: 0x010,
  value: 0x011,
  keyType: 0x100,
  id: 0x102,
  sensitive: 0x103,
  encrypt: 0x104,
  decrypt: 0x105,
  wrap: 0x106,
  unwrap: 0x107,
  sign: 0x108,
  signRecover: 0x109,
  verify: 0x10a,
  derive: 0x10c,
  modulus: 0x120,
  modulusBits: 0x121,
  publicExponent: 0x122,
  valueLen: 0x161,
  extractable: 0x162,
  local: 0x163,
  neverExtractable: 0x164,
  alwaysSensitive: 0x165,
  ecParams: 0x180,
  ecPoint: 0x181,
  allowedMechanisms: 0x40000600,
} as const;

export const CKM = {
  rsaKeyPairGen: 0x0000,
  rsaPkcs: 0x0001,
  rsaX509: 0x0003,
  rsaPss: 0x000d,
  sha3RsaPss: 0x0063,
  ecKeyPairGen: 0x1040,
  ecdsa: 0x1041,
  aesKeyGen: 0x1080,
  aesGcm: 0x1087,
} as const;

/** CK_RSA_PKCS_PSS_PARAMS: hashAlg (CKM_…) and mgf (CKG_MGF1_…) of each digest. */
export const PSS_HASH: Record<DigestAlgorithm, { readonly hashAlg: number; readonly mgf: number }> = {
  sha256: { hashAlg: 0x250, mgf: 2 },
  sha384: { hashAlg: 0x260, mgf: 3 },
  sha512: { hashAlg: 0x270, mgf: 4 },
  'sha3-256': { hashAlg: 0x2b0, mgf: 7 },
  'sha3-384': { hashAlg: 0x2c0, mgf: 8 },
  'sha3-512': { hashAlg: 0x2d0, mgf: 9 },
};

export const CKR = {
  hostMemory: 0x02,
  generalError: 0x05,
  argumentsBad: 0x07,
  dataInvalid: 0x20,
  dataLenRange: 0x21,
  deviceError: 0x30,
  deviceMemory: 0x31,
  deviceRemoved: 0x32,
  encryptedDataInvalid: 0x40,
  encryptedDataLenRange: 0x41,
  aeadDecryptFailed: 0x42,
  keyHandleInvalid: 0x60,
  keySizeRange: 0x62,
  keyTypeInconsistent: 0x63,
  keyFunctionNotPermitted: 0x68,
  mechanismInvalid: 0x70,
  mechanismParamInvalid: 0x71,
  objectHandleInvalid: 0x82,
  sessionClosed: 0xb0,
  sessionHandleInvalid: 0xb3,
  signatureInvalid: 0xc0,
  signatureLenRange: 0xc1,
  tokenNotPresent: 0xe0,
  tokenNotRecognized: 0xe1,
  userAlreadyLoggedIn: 0x100,
  userNotLoggedIn: 0x101,
  userPinNotInitialized: 0x102,
  cryptokiNotInitialized: 0x190,
} as const;

/** After these the library or the token must be opened anew, which is safe only in a new process. */
const FATAL: ReadonlySet<number> = new Set([
  CKR.hostMemory,
  CKR.generalError,
  CKR.deviceError,
  CKR.deviceMemory,
  CKR.deviceRemoved,
  CKR.sessionClosed,
  CKR.sessionHandleInvalid,
  CKR.tokenNotPresent,
  CKR.tokenNotRecognized,
  CKR.userNotLoggedIn,
  // SoftHSM says so while another process logs in, which writes the file of the token. No PIN was looked at.
  CKR.userPinNotInitialized,
  CKR.cryptokiNotInitialized,
]);

/** The token understood and will not; asking again does not help. */
const REFUSAL: ReadonlySet<number> = new Set([
  CKR.argumentsBad,
  CKR.dataInvalid,
  CKR.dataLenRange,
  CKR.keySizeRange,
  CKR.keyTypeInconsistent,
  CKR.keyFunctionNotPermitted,
  CKR.mechanismInvalid,
  CKR.mechanismParamInvalid,
]);

/** The CKR_ code of an error that the HSM library raised; undefined for any other error. */
export function ckrOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') return undefined;
  return error.message.startsWith('CKR_') ? error.code : undefined;
}

export function isFatal(error: unknown): boolean {
  return FATAL.has(ckrOf(error) ?? -1);
}

export function isRefusal(error: unknown): boolean {
  return REFUSAL.has(ckrOf(error) ?? -1);
}

/** Handles change when the token was logged out or an object was replaced; the object may be found again. */
export function isStaleHandle(error: unknown): boolean {
  const code = ckrOf(error);
  return code === CKR.objectHandleInvalid || code === CKR.keyHandleInvalid;
}

export function isBadSignature(error: unknown): boolean {
  const code = ckrOf(error);
  return code === CKR.signatureInvalid || code === CKR.signatureLenRange;
}

/** Whether a token reports a wrong tag. SoftHSM answers CKR_GENERAL_ERROR, so the caller has to probe whether the token still works. */
export function isNotAuthentic(error: unknown): boolean {
  const code = ckrOf(error);
  return (
    code === CKR.encryptedDataInvalid ||
    code === CKR.encryptedDataLenRange ||
    code === CKR.aeadDecryptFailed ||
    code === CKR.generalError
  );
}
