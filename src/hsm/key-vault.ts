/** What a signature over a digest of a caller can be for. A digest does not tell a release from an SSH login or a TLS challenge. */
export const SIGNATURE_PURPOSES = [
  'code-signing',
  'documents',
  'openpgp',
  'ssh-login',
  'ssh-signatures',
  'tls-client',
] as const;
export type SignaturePurpose = (typeof SIGNATURE_PURPOSES)[number];

/** Purposes of the keys that sign for the service. The key of the audit log is not among them: no sign order reaches it. */
export const SIGNER_PURPOSES = [
  'signing',
  'timestamping',
  'certificates',
  'ssh-ca',
  'ssh-key',
  ...SIGNATURE_PURPOSES,
] as const;
export type SignerPurpose = (typeof SIGNER_PURPOSES)[number];

/**
 * Which key an order means. The token's own CKA_LABEL must say the same: rows of the database, where CKA_IDs and public keys
 * are kept, do not decide alone which key signs.
 */
export interface KeyIdentity {
  readonly purpose: SignerPurpose;
  /** Whose key it is: `NAME vVERSION ID` of a signing key (ID: its UUID without dashes), the UUID of an SSH authority or SSH key. */
  readonly owner: string;
}

/** A key in the token: it is found by its CKA_ID, and counts only when its CKA_LABEL is one of these. */
export interface TokenKey {
  readonly ckaId: Buffer;
  /** The first is the one that keys are made with; the others were given by earlier versions of this service. */
  readonly labels: readonly [string, ...string[]];
}

export const MAX_OWNER_BYTES = 128;

/** The owner of a version of a signing key. */
export function signingKeyOwner(keyId: string, name: string, version: number): string {
  return `${name} v${version} ${keyId.replaceAll('-', '')}`;
}

/** Types of key that the token makes and holds. */
export const TOKEN_KEY_TYPES = ['rsa-2048', 'rsa-3072', 'rsa-4096', 'ec-p256', 'ec-p384', 'ec-p521'] as const;
/** FIPS 204. Made in software and sealed by a key of the token. */
export const ML_DSA_TYPES = ['ml-dsa-44', 'ml-dsa-65', 'ml-dsa-87'] as const;
export type MlDsaType = (typeof ML_DSA_TYPES)[number];

/** Types of key that the vault generates. */
export const KEY_TYPES = [...TOKEN_KEY_TYPES, ...ML_DSA_TYPES] as const;
export type KeyType = (typeof KEY_TYPES)[number];
export type TokenKeyType = (typeof TOKEN_KEY_TYPES)[number];

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

/** Signature schemes: RFC 8017 section 8 for RSA; ECDSA as DER SEQUENCE (RFC 3279) or as r‖s (IEEE P1363); ML-DSA over the digest. */
export const SCHEMES = ['rsa-pkcs1v15', 'rsa-pss', 'ecdsa-der', 'ecdsa-raw', 'ml-dsa'] as const;
export type SignatureScheme = (typeof SCHEMES)[number];

/** A key as orders name it: how it is found in the token, and the public key that its signatures are checked against. */
export interface VaultKey {
  /** CKA_ID of the key pair. */
  readonly ckaId: Buffer;
  /** The identity that the label of the key in the token must state. */
  readonly identity: KeyIdentity;
  readonly type: KeyType;
  /** SubjectPublicKeyInfo (RFC 5280 section 4.1), DER: the stored public key. */
  readonly publicKey: Buffer;
  /** The private key, sealed by a key of the token; null or absent when the token holds it. */
  readonly sealed?: Buffer | null;
}

export function isMlDsa(type: KeyType): type is MlDsaType {
  return type.startsWith('ml-dsa-');
}

export interface SignOrder {
  readonly key: VaultKey;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** The bare hash value; its length is that of the algorithm. */
  readonly digest: Buffer;
  /** ML-DSA only: what is signed in place of the digest, for standards that have it sign whole structures. */
  readonly message?: Buffer;
}

/** The token's own report on a key, kept as evidence that the private key was made in it and cannot leave it. */
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
  /** To be kept and given back with each order; absent when the token holds the private key. */
  readonly sealed?: Buffer | null;
  readonly evidence: KeyEvidence;
}

/** At most MAX_SEALED_BYTES of plaintext; the associated data is bound to the ciphertext and must be given again to open it. */
export interface SealOrder {
  readonly plain: Uint8Array;
  readonly associatedData: Uint8Array;
}

export interface UnsealOrder {
  readonly sealed: Uint8Array;
  readonly associatedData: Uint8Array;
}

/** Names a key pair twice: what has this CKA_ID but another CKA_LABEL is some other key, and is left alone. */
export interface DestroyOrder {
  readonly ckaId: Buffer;
  readonly identity: KeyIdentity;
}

/** The last checkpoint that the key of a log signed, as the token keeps it, out of reach of the database: the next one must continue it. */
export interface LogAnchor {
  /** Name of the log (C2SP tlog-checkpoint). */
  readonly origin: string;
  /** CKA_ID of its key. */
  readonly ckaId: Uint8Array;
  /** Leaves of the last checkpoint; 0 before the first. */
  readonly size: number;
  readonly root: Uint8Array;
  /** Milliseconds since 1970 when a log that an earlier version had begun was anchored; 0 for one that had its anchor from the start. */
  readonly since: number;
}

export interface NewLogOrder {
  readonly ckaId: Uint8Array;
  readonly origin: string;
}

/** The content of a checkpoint. The key process composes the note from it; nothing else chooses what the log's key signs. */
export interface CheckpointOrder {
  readonly origin: string;
  readonly ckaId: Uint8Array;
  /** SubjectPublicKeyInfo, DER: what the signature is checked against. */
  readonly publicKey: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  /** Hashes that lead from the anchored tree to this one (RFC 9162 section 2.1.4). */
  readonly proof: readonly Uint8Array[];
  /** Newest signed note; with it a log that has no anchor yet gets one. */
  readonly lastNote?: string | undefined;
}

/**
 * Why no checkpoint is signed. `rolled-back`: the log has fewer leaves than were signed. `forked`: its first leaves are not those
 * that were signed. `other-key`: another key signs this log. `no-anchor`: the token knows nothing of this log, and no checkpoint
 * that its key signed was given.
 */
const LOG_HOLDS = ['rolled-back', 'forked', 'other-key', 'no-anchor'] as const;
export type LogHold = (typeof LOG_HOLDS)[number];

export type CheckpointAnswer =
  | { readonly kind: 'signed'; readonly signature: Uint8Array; readonly anchor: LogAnchor }
  | { readonly kind: 'held'; readonly why: LogHold; readonly anchor?: LogAnchor | undefined };

/** The state of a log that an operator accepts; without `state` its anchor is removed, and the log may begin anew. */
export interface AcceptedLog {
  readonly origin: string;
  readonly state?: { readonly ckaId: Uint8Array; readonly size: number; readonly root: Uint8Array } | undefined;
}

/** A key of this service that the token holds: a private key, or a secret one. */
export interface HeldKey {
  readonly ckaId: Uint8Array;
  /** CKA_LABEL; see `labelsOf` in pkcs11/key-directory.ts. */
  readonly label: string;
}

export const MAX_SEALED_BYTES = 65_536;

/** Reads the mark that a deployment refuses rows without a seal, or makes it. `origin` is the base name of its audit log. */
export interface RowMarkOrder {
  readonly origin: string;
  /** Number of the upgrade whose tables the mark is about. */
  readonly generation: number;
  readonly set: boolean;
}

export interface VaultHealth {
  readonly up: boolean;
  /** One line for the operator; no secret, no PIN. */
  readonly detail: string;
  /** Process id of the key process, when one runs. */
  readonly pid?: number;
  /** How often the key process was replaced since this process started. */
  readonly respawns: number;
  /** Orders of this process that have no answer yet. */
  readonly waiting: number;
}

/**
 * The key boundary. Private keys stay behind it; digests go in, verified signatures come out.
 *
 * Errors are Problems:
 * - `hsm.unavailable` (unavailable): the HSM did not answer; the operation may or may not have run; try again.
 * - `hsm.deadline` (unavailable): the call took too long and the key process was replaced.
 * - `hsm.wrong-signature` (unavailable): the signature did not verify with the stored public key and was dropped.
 * - `hsm.key-missing` (conflict): the token holds no such key; retrying does not help.
 * - `hsm.other-key` (conflict): the key of this CKA_ID has another label: it is for another purpose or another owner.
 * - `hsm.refused` (conflict): the token refuses this key, mechanism or length; retrying does not help.
 * - `hsm.not-authentic` (conflict): the bytes were not sealed by this token with this associated data.
 */
export abstract class KeyVault {
  /** Begins to reach for the HSM and waits a few seconds for its first word. Does nothing when it was called before. */
  abstract start(): Promise<void>;

  /** Signs one digest. The signature was verified with `key.publicKey` before it is returned. */
  abstract sign(order: SignOrder): Promise<Buffer>;

  /** Generates a key pair in the token under `ckaId` and reads its attributes back. Not retried: the caller owns `ckaId`. */
  abstract generate(order: { ckaId: Buffer; identity: KeyIdentity; type: KeyType }): Promise<GeneratedKey>;

  /**
   * Destroys a signing key pair in the token, for good. Answers how many private keys this very call destroyed: 0 when there was none
   * (any more), so that a call whose answer was lost can be made again. `hsm.other-key` when the label is another.
   */
  abstract destroy(order: DestroyOrder): Promise<number>;

  /** Encrypts and authenticates (AES-256) with a key that never leaves the token. */
  abstract seal(order: SealOrder): Promise<Buffer>;

  /** The plaintext of what `seal` gave, under the same associated data. */
  abstract unseal(order: UnsealOrder): Promise<Buffer>;

  /**
   * Makes the key of a log (EC P-256), and the anchor of that log in the token: nothing is signed yet. `hsm.refused` when the
   * token knows a log of this origin over which something was signed.
   */
  abstract generateLogKey(order: NewLogOrder): Promise<GeneratedKey>;

  /** Makes another sealing key, which seals from now on; those before it go on opening what they sealed. Answers its CKA_ID. */
  abstract newSealingKey(): Promise<Buffer>;

  /** Every key in the token whose label is one of this service, or of those the ones with this label. */
  abstract holdings(label?: string): Promise<readonly HeldKey[]>;

  /** The anchor of the log of this origin in the token; undefined when there is none. */
  abstract logAnchor(origin: string): Promise<LogAnchor | undefined>;

  /** Since when this deployment refuses rows without a seal, in milliseconds since 1970; undefined while the token has no such mark. */
  abstract rowMark(order: RowMarkOrder): Promise<number | undefined>;

  /**
   * Signs a checkpoint: the key process puts the note together itself, and signs only what continues the last one that it signed.
   * The answer says why it did not otherwise.
   */
  abstract signCheckpoint(order: CheckpointOrder): Promise<CheckpointAnswer>;

  /** Replaces the anchor by what an operator has accepted, or removes it. Answers the one that was there. */
  abstract acceptLog(order: AcceptedLog): Promise<LogAnchor | undefined>;

  /** Lets every process try the PIN in its file once more, although the token refused it before. Answers how many were refused. */
  abstract retryPin(): Promise<number>;

  /** The last known state; cheap, never asks the HSM. */
  abstract health(): VaultHealth;
}
