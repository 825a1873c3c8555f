/**
 * digestContext returns the context string (FIPS 204 section 5.2) for an ML-DSA signature over a digest from a caller. ML-DSA signs messages, not digests.
 * Without a context, a caller could submit a script or text of 32 to 64 bytes as a digest and obtain a valid signature over that script or text. Structures
 * composed by the service are signed with an empty context, as their standards require.
 *
 * @param algorithm name of the digest algorithm, such as `sha256`
 */
export function digestContext(algorithm: string): Buffer {
  return Buffer.from(`sealwright digest ${algorithm}`);
}
