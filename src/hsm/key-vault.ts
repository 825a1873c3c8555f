/** Types of key that the vault generates. */
export const KEY_TYPES = ['rsa-2048', 'rsa-3072', 'rsa-4096', 'ec-p256', 'ec-p384', 'ec-p521'] as const;
export type KeyType = (typeof KEY_TYPES)[number];

/** Digest algorithms: name to length of the digest in bytes (FIPS 180-4, FIPS 202). */
export const DIGEST_BYTES = {
  sha256: 32,
  sha384: 48,
  sha512: 64,
  'sha3-256': 32,
  'sha3-384': 48,
  'sha3-512': 64,
} as const;
export type DigestAlgorithm = keyof typeof DIGEST_BYTES;

/** Signature schemes: RFC 8017 section 8 for RSA; ECDSA as DER SEQUENCE (RFC 3279) or as r‖s (IEEE P1363). */
export const SCHEMES = ['rsa-pkcs1v15', 'rsa-pss', 'ecdsa-der', 'ecdsa-raw'] as const;
export type SignatureScheme = (typeof SCHEMES)[number];

/** How a key is found in the token, and what its signatures are checked against. */
export interface VaultKey {
  /** CKA_ID of the key pair. */
  readonly ckaId: Buffer;
  readonly type: KeyType;
  /** SubjectPublicKeyInfo (RFC 5280 section 4.1), DER: the stored public key. */
  readonly publicKey: Buffer;
}

export interface SignOrder {
  readonly key: VaultKey;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** The bare hash value; its length is that of the algorithm. */
  readonly digest: Buffer;
}

/** What the token itself says of a key: kept as evidence that the private key was made in it and cannot leave it. */
export interface KeyEvidence {
  readonly tokenLabel: string;
  readonly tokenSerial: string;
  readonly tokenModel: string;
  /** CKA_LOCAL, CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE as read back. */
  readonly local: boolean;
  readonly sensitive: boolean;
  readonly extractable: boolean;
  readonly alwaysSensitive: boolean;
  readonly neverExtractable: boolean;
}

export interface GeneratedKey {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly evidence: KeyEvidence;
}

export interface VaultHealth {
  readonly up: boolean;
  /** One line for the operator; no secret, no PIN. */
  readonly detail: string;
  /** Process id of the key process, when one runs. */
  readonly pid?: number;
  /** How often the key process was replaced since this process started. */
  readonly respawns: number;
}

/**
 * The key boundary. Private keys stay behind it; digests go in, verified signatures come out.
 *
 * Errors are Problems:
 * - `hsm.unavailable` (unavailable): the HSM did not answer; the operation may or may not have run; try again.
 * - `hsm.deadline` (unavailable): the call took too long and the key process was replaced.
 * - `hsm.wrong-signature` (unavailable): the signature did not verify with the stored public key and was dropped.
 * - `hsm.key-missing` (conflict): the token holds no such key; retrying does not help.
 * - `hsm.refused` (conflict): the token refuses this key, mechanism or length; retrying does not help.
 */
export abstract class KeyVault {
  /** Signs one digest. The signature was verified with `key.publicKey` before it is returned. */
  abstract sign(order: SignOrder): Promise<Buffer>;

  /** Generates a key pair in the token under `ckaId` and reads its attributes back. Not retried: the caller owns `ckaId`. */
  abstract generate(order: { ckaId: Buffer; label: string; type: KeyType }): Promise<GeneratedKey>;

  /** The last known state; cheap, never asks the HSM. */
  abstract health(): VaultHealth;
}
