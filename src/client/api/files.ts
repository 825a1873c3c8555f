import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ClientError, EXIT, usageError } from './exit-codes.js';

export const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha3-256', 'sha3-384', 'sha3-512'];

const READ_BYTES = 1 << 20;

/** Extension of the file with the signature, by format. */
export const EXTENSION: Readonly<Record<string, string>> = {
  raw: '.sig',
  cms: '.p7s',
  jws: '.jws',
  'sigstore-bundle': '.sigstore.json',
};
/** The TimeStampToken of a format that has no place for it. */
export const TOKEN_EXTENSION = '.tst';

/** HashProgress hears how many bytes of a file have been hashed. */
export type HashProgress = (file: string, done: number, total: number) => void;

/** Base64 of the hash of a file, which is read piece by piece and never leaves this machine. */
export async function fileHashOf(file: string, algorithm: string, progress?: HashProgress): Promise<string> {
  if (!ALGORITHMS.includes(algorithm)) throw usageError(`--algorithm is one of ${ALGORITHMS.join(', ')}.`);
  const hash = createHash(algorithm);
  try {
    const total = (await stat(file)).size;
    let done = 0;
    const content = createReadStream(file, { highWaterMark: READ_BYTES });
    if (progress !== undefined) content.on('data', (piece) => progress(file, (done += piece.length), total));
    await pipeline(content, hash);
  } catch (error) {
    throw new ClientError(EXIT.failed, `${file} cannot be read: ${error instanceof Error ? error.message : 'unknown'}`);
  }
  return hash.digest('base64');
}

export function assertFormat(format: string): void {
  if (format in EXTENSION) return;
  throw usageError(`--format is one of ${Object.keys(EXTENSION).join(', ')}; Authenticode needs more than a digest.`);
}

/**
 * The signature of a file, with its format: the file that was named, or the one beside it that has the extension of a format. ClientError
 * when there is none, or more than one.
 */
export function signatureOf(
  file: string,
  given: string | undefined,
  path: string | undefined,
): { format: string; path: string } {
  if (given !== undefined) assertFormat(given);
  const formats = given === undefined ? Object.keys(EXTENSION) : [given];
  const beside = formats.map((format) => ({ format, path: `${file}${EXTENSION[format]}` }));
  if (path !== undefined) {
    const format = given ?? formats.find((one) => path.endsWith(EXTENSION[one] ?? '/')) ?? 'raw';
    return { format, path };
  }
  const found = beside.filter((one) => existsSync(one.path));
  const [only, ...others] = found;
  if (only === undefined) throw new ClientError(EXIT.failed, `There is no signature beside ${file}.`);
  if (others.length > 0) throw usageError(`There are several signatures beside ${file}: name one by --format.`);
  return only;
}
