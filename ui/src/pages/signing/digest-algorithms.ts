import type { DigestAlgorithm } from './hash.worker.js';

/** Digest algorithms in display order. */
export const DIGEST_ALGORITHMS: readonly DigestAlgorithm[] = [
  'sha256',
  'sha384',
  'sha512',
  'sha3-256',
  'sha3-384',
  'sha3-512',
];
