import type { KeyType, SignatureScheme } from '../../hsm/key-vault.js';
import type { FormatDigest } from './algorithm-identifiers.js';

/** Signature formats. */
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

/** FormatOrder is the input of a format, before the signature exists. */
export interface FormatOrder {
  /** Hash value of the data to be signed. */
  readonly digest: Buffer;
  readonly algorithm: FormatDigest;
  readonly scheme: SignatureScheme;
  readonly keyType: KeyType;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  /** Key ID and version, for formats that contain a key name. */
  readonly keyName: string;
  /** Certificates (DER), starting with the key's certificate; empty if the key has no certificate. */
  readonly chain: readonly Buffer[];
  /** Creation time of this key version, which an OpenPGP fingerprint covers. */
  readonly madeAt: Date;
  /** `authenticode`: SpcIndirectDataContent, DER. `openpgp`: the hashed part of the signature. */
  readonly content?: Buffer;
  /** True for an OpenPGP self-signature that the service composed. Callers cannot request self-signatures. */
  readonly isStatement?: boolean;
}

/** The signature from the HSM, and the token of the timestamp authority if one was called. */
export interface MadeSignature {
  readonly signature: Buffer;
  /** TimeStampToken (RFC 3161) over the hash of the signature, DER. */
  readonly timestampToken?: Buffer;
  /** Record of the signature as a separate leaf in the transparency log, for verifiers that do not support this service. */
  readonly record?: string;
}

/**
 * SignatureFormatWriter implements a signature format with two pure functions, which run before and after the HSM call. `toBeSigned` returns the bytes to be
 * signed instead of the received digest; the hash of these bytes is sent to the HSM. `assemble` puts the signature into its container.
 */
export interface SignatureFormatWriter {
  /** Schemes that the format supports, the default first. */
  schemes(type: KeyType): readonly SignatureScheme[];
  readonly needsCertificate: boolean;
  /** Returns the bytes to be signed; undefined if the HSM signs the digest itself. `at` is the claimed signing time. */
  toBeSigned(order: FormatOrder, at: Date): Buffer | undefined;
  /** Rejects, immediately before signing, an order that does not match the key version. Throws a Problem. */
  beforeSigning?(order: FormatOrder): void;
  /** Returns the file that the client writes. */
  assemble(order: FormatOrder, toBeSigned: Buffer | undefined, made: MadeSignature): Buffer;
  /** Returns the record that verifiers of the format look up in a transparency log. */
  record?(order: FormatOrder, signature: Buffer): string;
}

export function isRsa(type: KeyType): boolean {
  return type.startsWith('rsa');
}

/** Returns the name of a key in formats without certificates. */
export function keyNameOf(keyId: string, version: number): string {
  return `${keyId}.${version}`;
}
