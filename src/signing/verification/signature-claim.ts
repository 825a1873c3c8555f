import type { X509Certificate } from 'node:crypto';
import type { DigestAlgorithm, SignatureScheme } from '../../hsm/key-vault.js';

/** What somebody wants to have verified. */
export interface SignedFile {
  readonly digest: Buffer;
  readonly algorithm: DigestAlgorithm;
  /** Counts for the format raw; the others say it themselves. */
  readonly scheme: SignatureScheme;
  /** As the service gave it: the bare signature, or the file that holds it. */
  readonly signature: Buffer;
  /** ML-DSA only, and what the service composed: the bytes that were signed in place of the digest. */
  readonly message?: Buffer;
}

/** What a format claims once it was taken apart: a signature over a digest, still to be verified. */
export interface SignatureClaim {
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** What the key signed: the file's digest, or the hash of bytes that contain it. */
  readonly signedDigest: Buffer;
  /** These bytes themselves, which ML-DSA signs in place of their hash. */
  readonly message?: Buffer;
  /** The bare signature value. */
  readonly signature: Buffer;
  /** That of the key first; empty when the format carries none. */
  readonly certificates: readonly X509Certificate[];
  /** TimeStampToken, DER. */
  readonly timestampToken?: Buffer;
}

/** Takes a signature apart. Throws BadSignature, or RangeError on what cannot be read. */
export type SignatureReader = (file: SignedFile) => SignatureClaim;
