import type { DigestAlgorithm } from './key-vault.js';

/**
 * DER of DigestInfo up to the digest (RFC 8017 section 9.2 note 1; the SHA-3 object identifiers are NIST's
 * 2.16.840.1.101.3.4.2.8 to .10, with NULL parameters like their elders).
 */
const DIGEST_INFO_PREFIX: Record<DigestAlgorithm, Buffer> = {
  sha256: Buffer.from('3031300d060960864801650304020105000420', 'hex'),
  sha384: Buffer.from('3041300d060960864801650304020205000430', 'hex'),
  sha512: Buffer.from('3051300d060960864801650304020305000440', 'hex'),
  'sha3-256': Buffer.from('3031300d060960864801650304020805000420', 'hex'),
  'sha3-384': Buffer.from('3041300d060960864801650304020905000430', 'hex'),
  'sha3-512': Buffer.from('3051300d060960864801650304020a05000440', 'hex'),
};

/** DigestInfo: what CKM_RSA_PKCS signs and what the public operation gives back. */
export function digestInfo(algorithm: DigestAlgorithm, digest: Buffer): Buffer {
  return Buffer.concat([DIGEST_INFO_PREFIX[algorithm], digest]);
}
