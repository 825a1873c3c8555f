/** The purpose of a signature over a caller's digest. A digest does not reveal whether it belongs to a release, an SSH login or a TLS challenge. */
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
 * Identifies the key of an order. The CKA_LABEL in the token must match: rows of the database, which contain CKA_IDs and public keys, do not alone decide
 * which key signs.
 */
export interface KeyIdentity {
  readonly purpose: SignerPurpose;
  /** Whose key it is: `NAME vVERSION ID` of a signing key (ID: its UUID without dashes), the UUID of an SSH authority or SSH key. */
  readonly owner: string;
}

/** A key in the token: it is found by its CKA_ID, and counts only when its CKA_LABEL is one of these. */
export interface TokenKey {
  readonly ckaId: Buffer;
  /** The first label is used for new keys. Earlier versions of this service used the others. */
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
  /** ML-DSA only: the bytes to be signed instead of the digest, for standards that sign whole structures. */
  readonly message?: Buffer;
  /** Callers take turns: the orders of one caller do not delay those of others. */
  readonly caller?: string;
}

/** The token's own report on a key, stored as evidence that the private key was generated in the token and cannot leave it. */
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
  /** Stored by the caller and passed with each order; absent if the token holds the private key. */
  readonly sealed?: Buffer | null;
  readonly evidence: KeyEvidence;
}

/** At most MAX_SEALED_BYTES of plaintext. The associated data is bound to the ciphertext and must be passed again for decryption. */
export interface SealOrder {
  readonly plain: Uint8Array;
  readonly associatedData: Uint8Array;
}

export interface UnsealOrder {
  readonly sealed: Uint8Array;
  readonly associatedData: Uint8Array;
}

/** Identifies a key pair by two attributes: an object with this CKA_ID but another CKA_LABEL is a different key and is left untouched. */
export interface DestroyOrder {
  readonly ckaId: Buffer;
  readonly identity: KeyIdentity;
}

/** The last checkpoint that the key of a log signed. The token stores it, out of reach of the database, and the next checkpoint must continue it. */
export interface LogAnchor {
  /** Name of the log (C2SP tlog-checkpoint). */
  readonly origin: string;
  /** CKA_ID of its key. */
  readonly ckaId: Uint8Array;
  /** Leaves of the last checkpoint; 0 before the first. */
  readonly size: number;
  readonly root: Uint8Array;
  /** Milliseconds since 1970 at which a log of an earlier version was anchored; 0 for a log that had an anchor from the start. */
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
  /** Hashes that prove that this tree continues the anchored tree (RFC 9162 section 2.1.4). */
  readonly proof: readonly Uint8Array[];
  /** Newest signed note; gives an anchor to a log that has none. */
  readonly lastNote?: string | undefined;
}

/**
 * Why no checkpoint is signed. `rolled-back`: the log has fewer leaves than were signed. `forked`: its first leaves differ from those that were signed.
 * `other-key`: another key signs this log. `no-anchor`: the token has no anchor of this log, and no checkpoint that its key signed was given.
 */
const LOG_HOLDS = ['rolled-back', 'forked', 'other-key', 'no-anchor'] as const;
export type LogHold = (typeof LOG_HOLDS)[number];

export type CheckpointAnswer =
  | { readonly kind: 'signed'; readonly signature: Uint8Array; readonly anchor: LogAnchor }
  | { readonly kind: 'held'; readonly why: LogHold; readonly anchor?: LogAnchor | undefined };

/** The state of a log that an operator accepts. Without `state` its anchor is removed, and the log can start again. */
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

/** Reads or sets the mark that a deployment refuses rows without a seal. `origin` is the base name of its audit log. */
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
 * KeyVault is the key boundary. Private keys stay behind it; digests go in, verified signatures come out.
 *
 * Errors are Problems:
 * - `hsm.unavailable` (unavailable): the HSM did not respond; the operation may or may not have run; retry.
 * - `hsm.deadline` (unavailable): the call took too long and the key process was replaced.
 * - `hsm.wrong-signature` (unavailable): the signature did not verify with the stored public key and was discarded.
 * - `hsm.key-missing` (conflict): the token does not contain the key; retrying does not help.
 * - `hsm.other-key` (conflict): the key with this CKA_ID has another label: it has another purpose or another owner.
 * - `hsm.refused` (conflict): the token refuses this key, mechanism or length; retrying does not help.
 * - `hsm.not-authentic` (conflict): the bytes were not encrypted by this token with this associated data.
 */
export abstract class KeyVault {
  /** Begins to reach for the HSM and waits a few seconds for its first word. Does nothing when it was called before. */
  abstract start(): Promise<void>;

  /** Signs one digest. The signature was verified with `key.publicKey` before it is returned. */
  abstract sign(order: SignOrder): Promise<Buffer>;

  /** Generates a key pair in the token under `ckaId` and reads its attributes back. Not retried: the caller owns `ckaId`. */
  abstract generate(order: { ckaId: Buffer; identity: KeyIdentity; type: KeyType }): Promise<GeneratedKey>;

  /**
   * Destroys a signing key pair in the token permanently. Returns the number of private keys that this call destroyed: 0 if there was none, so that a call
   * whose response was lost can be repeated. `hsm.other-key` if the label differs.
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

  /** Creates a new sealing key, which encrypts from now on; earlier keys still decrypt. Returns its CKA_ID. */
  abstract newSealingKey(): Promise<Buffer>;

  /** Every key in the token whose label is one of this service, or of those the ones with this label. */
  abstract holdings(label?: string): Promise<readonly HeldKey[]>;

  /** Returns the anchor of the log with this origin in the token; undefined if there is none. */
  abstract logAnchor(origin: string): Promise<LogAnchor | undefined>;

  /** Since when this deployment refuses rows without a seal, in milliseconds since 1970; undefined while the token has no such mark. */
  abstract rowMark(order: RowMarkOrder): Promise<number | undefined>;

  /** Signs a checkpoint. The key process composes the note itself, and signs it only if it continues the last one. Otherwise the result states the reason. */
  abstract signCheckpoint(order: CheckpointOrder): Promise<CheckpointAnswer>;

  /** Replaces the anchor with the state that an operator has accepted, or removes it. Returns the previous anchor. */
  abstract acceptLog(order: AcceptedLog): Promise<LogAnchor | undefined>;

  /** Lets every process try the PIN in its file once more, although the token refused it before. Returns the number of refused PINs. */
  abstract retryPin(): Promise<number>;

  /** Returns the last known state; cheap, never calls the HSM. */
  abstract health(): VaultHealth;
}
