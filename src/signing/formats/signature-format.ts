import type { KeyType, SignatureScheme } from '../../hsm/key-vault.js';
import type { FormatDigest } from './algorithm-identifiers.js';

/** The containers of a signature. */
export const SIGNATURE_FORMATS = [
  'raw',
  'cms',
  'authenticode',
  'jws',
  'sigstore-bundle',
  'dsse',
  'openpgp',
  'attestation',
] as const;
export type SignatureFormat = (typeof SIGNATURE_FORMATS)[number];

/** The formats that a caller can request with a digest. The service composes the statement of an attestation. */
export const DIGEST_FORMATS = SIGNATURE_FORMATS.filter((one) => one !== 'attestation');

/** All that a format knows of a signature before there is one. */
export interface FormatOrder {
  /** Hash value of what the signature is for. */
  readonly digest: Buffer;
  readonly algorithm: FormatDigest;
  readonly scheme: SignatureScheme;
  readonly keyType: KeyType;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  /** Key id and version, for formats that name a key by more than its certificate. */
  readonly keyName: string;
  /** DER, the certificate of the key first; empty when it has none. */
  readonly chain: readonly Buffer[];
  /** When this version of the key was made: part of what OpenPGP takes the fingerprint of. */
  readonly madeAt: Date;
  /** `authenticode`: SpcIndirectDataContent, DER. `openpgp`: the hashed part of the signature. */
  readonly content?: Buffer;
  /** The service composed a statement of the key about itself; no caller did. */
  readonly isStatement?: boolean;
}

/** The result of the HSM, and of the timestamp authority if one was called. */
export interface MadeSignature {
  readonly signature: Buffer;
  /** TimeStampToken (RFC 3161) over the hash of the signature, DER. */
  readonly timestampToken?: Buffer;
  /** The record of the signature as a separate leaf in the transparency log, for verifiers that do not know this service. */
  readonly record?: string;
}

/**
 * A format as two pure steps around the HSM. The first returns the bytes that are signed instead of the received digest: their hash is the second digest,
 * which the HSM gets. The second puts the signature into its container.
 */
export interface SignatureFormatWriter {
  /** Schemes that the format can name, the usual one first. */
  schemes(type: KeyType): readonly SignatureScheme[];
  readonly needsCertificate: boolean;
  /** The bytes to be signed; undefined when the HSM signs the digest itself. `at` is the time that the signature claims. */
  toBeSigned(order: FormatOrder, at: Date): Buffer | undefined;
  /** Refuses at the last moment what does not belong to the version of the key that is about to sign. Throws a Problem. */
  beforeSigning?(order: FormatOrder): void;
  /** The file that the client writes. */
  assemble(order: FormatOrder, toBeSigned: Buffer | undefined, made: MadeSignature): Buffer;
  /** The record that verifiers of the format look for in a transparency log. */
  record?(order: FormatOrder, signature: Buffer): string;
}

export function isRsa(type: KeyType): boolean {
  return type.startsWith('rsa');
}

/** The name of a key in formats without certificate. */
export function keyNameOf(keyId: string, version: number): string {
  return `${keyId}.${version}`;
}
