/**
 * Purposes of signatures over a caller's digest. The caller must specify the purpose, because a digest does not reveal whether it belongs to a release, an SSH
 * login or a TLS challenge.
 */
export const SIGNATURE_PURPOSES = [
  'code-signing',
  'documents',
  'openpgp',
  'ssh-login',
  'ssh-signatures',
  'tls-client',
] as const;
export type SignaturePurpose = (typeof SIGNATURE_PURPOSES)[number];

/** Purposes of the keys that sign for the service. The audit log's key is not included, so no sign order can use that key. */
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
 * Identifies the key of an order. The CKA_LABEL in the token must also match. Database rows, which contain CKA_IDs and public keys, therefore cannot
 * determine on their own which key signs.
 */
export interface KeyIdentity {
  readonly purpose: SignerPurpose;
  /** Owner of the key: `NAME vVERSION ID` of a signing key (ID: the key's UUID without hyphens), or the UUID of an SSH authority or SSH key. */
  readonly owner: string;
}

/** A key in the token. The key is found by its CKA_ID, and its CKA_LABEL must be one of `labels`. */
export interface TokenKey {
  readonly ckaId: Buffer;
  /** The first label is used for new keys. The other labels were used by earlier versions of this service. */
  readonly labels: readonly [string, ...string[]];
}

export const MAX_OWNER_BYTES = 128;

/** Returns the owner string for a signing key version. */
export function signingKeyOwner(keyId: string, name: string, version: number): string {
  return `${name} v${version} ${keyId.replaceAll('-', '')}`;
}

/** Key types that the token generates and stores. */
export const TOKEN_KEY_TYPES = ['rsa-2048', 'rsa-3072', 'rsa-4096', 'ec-p256', 'ec-p384', 'ec-p521'] as const;
/** Key types of FIPS 204. These keys are generated in software and encrypted with a key in the token. */
export const ML_DSA_TYPES = ['ml-dsa-44', 'ml-dsa-65', 'ml-dsa-87'] as const;
export type MlDsaType = (typeof ML_DSA_TYPES)[number];

/** Key types that the vault generates. */
export const KEY_TYPES = [...TOKEN_KEY_TYPES, ...ML_DSA_TYPES] as const;
export type KeyType = (typeof KEY_TYPES)[number];
export type TokenKeyType = (typeof TOKEN_KEY_TYPES)[number];

/** Digest algorithms, each with the length of the digest in bytes (FIPS 180-4, FIPS 202). */
export const DIGEST_BYTES = {
  sha256: 32,
  sha384: 48,
  sha512: 64,
  'sha3-256': 32,
  'sha3-384': 48,
  'sha3-512': 64,
} as const;
export type DigestAlgorithm = keyof typeof DIGEST_BYTES;

/**
 * Signature schemes: RSA as in RFC 8017 section 8; ECDSA as a DER SEQUENCE (RFC 3279) or as r‖s (IEEE P1363); ML-DSA over the digest, with a context string
 * that identifies the digest algorithm.
 */
export const SCHEMES = ['rsa-pkcs1v15', 'rsa-pss', 'ecdsa-der', 'ecdsa-raw', 'ml-dsa'] as const;
export type SignatureScheme = (typeof SCHEMES)[number];

/** Key of an order: the attributes that identify the key in the token, and the public key that verifies its signatures. */
export interface VaultKey {
  /** CKA_ID of the key pair. */
  readonly ckaId: Buffer;
  /** Identity that the label of the key in the token must contain. */
  readonly identity: KeyIdentity;
  readonly type: KeyType;
  /** Stored public key, as a DER-encoded SubjectPublicKeyInfo (RFC 5280 section 4.1). */
  readonly publicKey: Buffer;
  /** Private key, encrypted with a key in the token. Null or absent if the token contains the private key. */
  readonly sealed?: Buffer | null;
}

export function isMlDsa(type: KeyType): type is MlDsaType {
  return type.startsWith('ml-dsa-');
}

export interface SignOrder {
  readonly key: VaultKey;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** The raw hash value, as long as `algorithm` requires. */
  readonly digest: Buffer;
  /** ML-DSA only: the bytes to be signed instead of the digest, for standards that sign whole structures. */
  readonly message?: Buffer;
  /** Identifies the caller. Callers are served in turn, so that one caller's orders do not delay the orders of other callers. */
  readonly caller?: string;
}

/** The token's report on a key, stored as evidence that the private key was generated in the token and cannot leave it. */
export interface KeyEvidence {
  readonly tokenLabel: string;
  readonly tokenSerial: string;
  readonly tokenModel: string;
  /** CKA_LOCAL, CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_ALWAYS_SENSITIVE and CKA_NEVER_EXTRACTABLE, as read from the token. */
  readonly local: boolean;
  readonly sensitive: boolean;
  readonly extractable: boolean;
  readonly alwaysSensitive: boolean;
  readonly neverExtractable: boolean;
}

export interface GeneratedKey {
  /** DER-encoded SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  /** Stored by the caller and passed with each order; absent if the token contains the private key. */
  readonly sealed?: Buffer | null;
  readonly evidence: KeyEvidence;
}

/** The plaintext must not exceed MAX_SEALED_BYTES. The associated data is bound to the ciphertext and must be passed again for decryption. */
export interface SealOrder {
  readonly plain: Uint8Array;
  readonly associatedData: Uint8Array;
}

export interface UnsealOrder {
  readonly sealed: Uint8Array;
  readonly associatedData: Uint8Array;
}

/** Identifies a key pair by two attributes. An object with this CKA_ID but a different CKA_LABEL is a different key and is not changed. */
export interface DestroyOrder {
  readonly ckaId: Buffer;
  readonly identity: KeyIdentity;
}

/**
 * The last checkpoint signed with a log's key. The anchor is stored in the token, where an attacker with database access cannot change it. The next checkpoint
 * must be consistent with this checkpoint.
 */
export interface LogAnchor {
  /** Name of the log (C2SP tlog-checkpoint). */
  readonly origin: string;
  /** CKA_ID of the log's key. */
  readonly ckaId: Uint8Array;
  /** Number of leaves in the last checkpoint; 0 before the first checkpoint. */
  readonly size: number;
  readonly root: Uint8Array;
  /** Time at which a log started by an earlier version was anchored, in milliseconds since 1970. 0 for a log that has always had an anchor. */
  readonly since: number;
}

export interface NewLogOrder {
  readonly ckaId: Uint8Array;
  readonly origin: string;
}

/** Content of a checkpoint, from which the key process composes the note. The log's key signs only these notes. */
export interface CheckpointOrder {
  readonly origin: string;
  readonly ckaId: Uint8Array;
  /** Public key that verifies the signature, as a DER-encoded SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  /** Consistency proof between the anchored tree and this tree (RFC 9162 section 2.1.4). */
  readonly proof: readonly Uint8Array[];
  /** Newest signed note, to which a log without an anchor is anchored. */
  readonly lastNote?: string | undefined;
}

/**
 * Reason why no checkpoint is signed. `rolled-back`: the log has fewer leaves than were signed. `forked`: the first leaves of the log differ from the signed
 * leaves. `other-key`: a different key signs this log. `no-anchor`: the token has no anchor for this log, and no checkpoint signed with its key was passed.
 */
const LOG_HOLDS = ['rolled-back', 'forked', 'other-key', 'no-anchor'] as const;
export type LogHold = (typeof LOG_HOLDS)[number];

export type CheckpointAnswer =
  | { readonly kind: 'signed'; readonly signature: Uint8Array; readonly anchor: LogAnchor }
  | { readonly kind: 'held'; readonly why: LogHold; readonly anchor?: LogAnchor | undefined };

/** State of a log that an operator accepted. Without `state`, the anchor is removed and the log can start again. */
export interface AcceptedLog {
  readonly origin: string;
  readonly state?: { readonly ckaId: Uint8Array; readonly size: number; readonly root: Uint8Array } | undefined;
}

/** A private or secret key of this service in the token. */
export interface HeldKey {
  readonly ckaId: Uint8Array;
  /** CKA_LABEL; see `labelsOf` in pkcs11/key-directory.ts. */
  readonly label: string;
}

export const MAX_SEALED_BYTES = 65_536;

/** Reads or sets the mark that makes a deployment reject rows without a seal. `origin` is the base name of the deployment's audit log. */
export interface RowMarkOrder {
  readonly origin: string;
  /** Number of the upgrade whose tables the mark covers. */
  readonly generation: number;
  readonly set: boolean;
}

export interface VaultHealth {
  readonly up: boolean;
  /** One line for the operator, without secrets or PINs. */
  readonly detail: string;
  /** Process ID of the key process; absent if none is running. */
  readonly pid?: number;
  /** Number of times the key process has been replaced since this process started. */
  readonly respawns: number;
  /** Number of pending orders of this process. */
  readonly waiting: number;
}

/**
 * KeyVault is the key boundary. It receives digests and returns verified signatures; private keys never leave the vault.
 *
 * Errors are Problems:
 * - `hsm.unavailable` (unavailable): the HSM did not respond, and the operation may have run; retry.
 * - `hsm.deadline` (unavailable): the call took too long and the key process was replaced.
 * - `hsm.wrong-signature` (unavailable): the signature did not verify with the stored public key and was discarded.
 * - `hsm.key-missing` (conflict): the token does not contain the key; retrying does not help.
 * - `hsm.other-key` (conflict): the key with this CKA_ID has a different label, and therefore a different purpose or owner.
 * - `hsm.refused` (conflict): the token rejects this key, mechanism or length; retrying does not help.
 * - `hsm.not-authentic` (conflict): the bytes were not encrypted by this token with this associated data.
 */
export abstract class KeyVault {
  /** Starts to connect to the HSM and waits a few seconds for its first response. Does nothing if the vault was already started. */
  abstract start(): Promise<void>;

  /** Signs one digest. The signature is verified with `key.publicKey` before it is returned. */
  abstract sign(order: SignOrder): Promise<Buffer>;

  /**
   * Generates a key pair in the token under `ckaId` and reads its attributes. The call is not retried, because a retry would be rejected if the first attempt
   * had already created a key with this `ckaId`.
   */
  abstract generate(order: { ckaId: Buffer; identity: KeyIdentity; type: KeyType }): Promise<GeneratedKey>;

  /**
   * Destroys a signing key pair in the token permanently. Returns the number of private keys that this call destroyed, which is 0 if the key does not exist.
   * A call whose response was lost can therefore be repeated. Throws Problem `hsm.other-key` if the label differs.
   */
  abstract destroy(order: DestroyOrder): Promise<number>;

  /** Encrypts and authenticates (AES-256) with a key that never leaves the token. */
  abstract seal(order: SealOrder): Promise<Buffer>;

  /** Decrypts the result of `seal` with the same associated data. */
  abstract unseal(order: UnsealOrder): Promise<Buffer>;

  /**
   * Generates a log's key (EC P-256) and creates the log's anchor in the token. Nothing is signed yet.
   *
   * @throws Problem `hsm.refused` if the token has an anchor for this origin and a checkpoint of that log has been signed
   */
  abstract generateLogKey(order: NewLogOrder): Promise<GeneratedKey>;

  /** Generates a sealing key, which encrypts all new secrets. Earlier keys can still decrypt. Returns the CKA_ID of the new key. */
  abstract newSealingKey(): Promise<Buffer>;

  /** Returns all keys of this service in the token, or only the keys with this label. */
  abstract holdings(label?: string): Promise<readonly HeldKey[]>;

  /** Returns the anchor of the log with this origin; undefined if the token does not contain an anchor for the log. */
  abstract logAnchor(origin: string): Promise<LogAnchor | undefined>;

  /** Returns the time since which this deployment rejects rows without a seal, in milliseconds since 1970; undefined if the token does not have the mark. */
  abstract rowMark(order: RowMarkOrder): Promise<number | undefined>;

  /**
   * Signs a checkpoint. The key process composes the note, and signs the note only if the checkpoint is consistent with the last signed checkpoint.
   * If the note is not signed, the result contains the reason.
   */
  abstract signCheckpoint(order: CheckpointOrder): Promise<CheckpointAnswer>;

  /** Replaces the anchor with the state that an operator accepted, or removes the anchor. Returns the previous anchor. */
  abstract acceptLog(order: AcceptedLog): Promise<LogAnchor | undefined>;

  /** After the token rejected a PIN, allows every process to try the PIN in its file once more. Returns the number of rejected PINs. */
  abstract retryPin(): Promise<number>;

  /** Returns the last known state without calling the HSM. */
  abstract health(): VaultHealth;
}
