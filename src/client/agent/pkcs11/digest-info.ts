import type { DigestName } from '../signer/remote-signer.js';

export const DIGEST_LENGTHS = { sha256: 32, sha384: 48, sha512: 64 } as const satisfies Record<DigestName, number>;

/** What stands before the digest in a DigestInfo (RFC 8017 section 9.2, note 1). */
const PREFIXES: Readonly<Record<DigestName, Buffer>> = {
  sha256: Buffer.from('3031300d060960864801650304020105000420', 'hex'),
  sha384: Buffer.from('3041300d060960864801650304020205000430', 'hex'),
  sha512: Buffer.from('3051300d060960864801650304020305000440', 'hex'),
};
/** Of a DigestInfo of SHA-512. */
export const MAX_DIGEST_INFO_BYTES = 83;

export interface NamedDigest {
  readonly algorithm: DigestName;
  readonly digest: Buffer;
}

const named = (Object.keys(DIGEST_LENGTHS) as DigestName[]).map((algorithm) => ({
  algorithm,
  prefix: PREFIXES[algorithm],
  length: DIGEST_LENGTHS[algorithm],
}));

/**
 * The digest in a DigestInfo, which a program hands over to be signed by CKM_RSA_PKCS. Undefined for everything that is not one whole
 * DigestInfo of a known hash, in DER and with nothing behind it: the 36 bytes of MD5 and SHA-1 that TLS 1.0 signed, for example, could mean
 * anything. Other encodings of the same digest are refused, since the service signs this one, and the program expects its own.
 */
export function digestOfDigestInfo(data: Buffer): NamedDigest | undefined {
  const found = named.find(
    ({ prefix, length }) => data.length === prefix.length + length && prefix.equals(data.subarray(0, prefix.length)),
  );
  return found === undefined ? undefined : { algorithm: found.algorithm, digest: data.subarray(found.prefix.length) };
}

/** The hash that a bare digest is of, by its length: CKM_ECDSA says no more. */
export function digestByLength(data: Buffer): NamedDigest | undefined {
  const found = named.find(({ length }) => length === data.length);
  return found === undefined ? undefined : { algorithm: found.algorithm, digest: data };
}
