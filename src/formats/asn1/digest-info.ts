/**
 * DER encoding of a DigestInfo up to the digest (RFC 8017 section 9.2 note 1). The SHA-3 object identifiers are NIST's 2.16.840.1.101.3.4.2.8 to .10. Their
 * parameters are NULL, as for SHA-2.
 */
const PREFIX = {
  sha256: Buffer.from('3031300d060960864801650304020105000420', 'hex'),
  sha384: Buffer.from('3041300d060960864801650304020205000430', 'hex'),
  sha512: Buffer.from('3051300d060960864801650304020305000440', 'hex'),
  'sha3-256': Buffer.from('3031300d060960864801650304020805000420', 'hex'),
  'sha3-384': Buffer.from('3041300d060960864801650304020905000430', 'hex'),
  'sha3-512': Buffer.from('3051300d060960864801650304020a05000440', 'hex'),
} as const;
type DigestInfoAlgorithm = keyof typeof PREFIX;

/** Returns the DigestInfo that RSASSA-PKCS1-v1_5 pads and signs. */
export function digestInfo(algorithm: DigestInfoAlgorithm, digest: Buffer): Buffer {
  return Buffer.concat([PREFIX[algorithm], digest]);
}

/** Returns the digest in a DigestInfo for this algorithm. Undefined unless the input is exactly the DER encoding that `digestInfo` writes. */
export function digestIn(info: Buffer, algorithm: DigestInfoAlgorithm): Buffer | undefined {
  const prefix = PREFIX[algorithm];
  const digest = info.subarray(prefix.length);
  // The last byte of the prefix is the length of the OCTET STRING.
  return digest.length === prefix.at(-1) && info.subarray(0, prefix.length).equals(prefix) ? digest : undefined;
}
