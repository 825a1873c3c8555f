import { digestIn } from '../../../formats/asn1/digest-info.js';
import type { DigestName } from '../signer/remote-signer.js';

export const DIGEST_LENGTHS = { sha256: 32, sha384: 48, sha512: 64 } as const satisfies Record<DigestName, number>;

/** Of a DigestInfo of SHA-512. */
export const MAX_DIGEST_INFO_BYTES = 83;

export interface NamedDigest {
  readonly algorithm: DigestName;
  readonly digest: Buffer;
}

const ALGORITHMS = Object.keys(DIGEST_LENGTHS) as DigestName[];

/**
 * The digest in a DigestInfo, which a program hands over to be signed by CKM_RSA_PKCS. Undefined for everything that is not one whole
 * DigestInfo of a known hash, in DER and with nothing behind it: the 36 bytes of MD5 and SHA-1 that TLS 1.0 signed, for example, could mean
 * anything. Other encodings of the same digest are refused, since the service signs this one, and the program expects its own.
 */
export function digestOfDigestInfo(data: Buffer): NamedDigest | undefined {
  for (const algorithm of ALGORITHMS) {
    const digest = digestIn(data, algorithm);
    if (digest !== undefined) return { algorithm, digest };
  }
  return undefined;
}

/** The hash that a bare digest is of, by its length: CKM_ECDSA says no more. */
export function digestByLength(data: Buffer): NamedDigest | undefined {
  const algorithm = ALGORITHMS.find((one) => DIGEST_LENGTHS[one] === data.length);
  return algorithm === undefined ? undefined : { algorithm, digest: data };
}
