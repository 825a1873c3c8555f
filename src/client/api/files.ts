import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { ClientError, EXIT, usageError } from './exit-codes.js';

export const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha3-256', 'sha3-384', 'sha3-512'];

/** Extension of the file with the signature, by format. */
export const EXTENSION: Readonly<Record<string, string>> = {
  raw: '.sig',
  cms: '.p7s',
  jws: '.jws',
  'sigstore-bundle': '.sigstore.json',
};
/** The TimeStampToken of a format that has no place for it. */
export const TOKEN_EXTENSION = '.tst';

/** Base64 of the hash of a file, which is read piece by piece and never leaves this machine. */
export async function fileHashOf(file: string, algorithm: string): Promise<string> {
  if (!ALGORITHMS.includes(algorithm)) throw usageError(`--algorithm is one of ${ALGORITHMS.join(', ')}.`);
  const hash = createHash(algorithm);
  try {
    await pipeline(createReadStream(file), hash);
  } catch (error) {
    throw new ClientError(EXIT.failed, `${file} cannot be read: ${error instanceof Error ? error.message : 'unknown'}`);
  }
  return hash.digest('base64');
}

export function assertFormat(format: string): void {
  if (format in EXTENSION) return;
  throw usageError(`--format is one of ${Object.keys(EXTENSION).join(', ')}; Authenticode needs more than a digest.`);
}
