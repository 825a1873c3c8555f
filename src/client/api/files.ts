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
  if (!ALGORITHMS.includes(algorithm)) throw usageError(`--algorithm must be one of ${ALGORITHMS.join(', ')}.`);
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
  throw usageError(
    `--format must be one of ${Object.keys(EXTENSION).join(', ')}; Authenticode needs more than a digest.`,
  );
}

/** A signature of a file, with its format. */
export interface FoundSignature {
  readonly format: string;
  readonly path: string;
}

/**
 * Returns the signatures of a file: the one that was named, or all beside it that have the extension of a format.
 *
 * @throws ClientError when there is none
 */
export function signaturesOf(file: string, given: string | undefined, path: string | undefined): FoundSignature[] {
  if (given !== undefined) assertFormat(given);
  const formats = given === undefined ? Object.keys(EXTENSION) : [given];
  if (path !== undefined) {
    const format = given ?? formats.find((one) => path.endsWith(EXTENSION[one] ?? '/')) ?? 'raw';
    return [{ format, path }];
  }
  const beside = formats.map((format) => ({ format, path: `${file}${EXTENSION[format]}` }));
  const found = beside.filter((one) => existsSync(one.path));
  if (found.length > 0) return found;
  throw new ClientError(EXIT.failed, `${file} has no detached signature.`);
}

/** Signatures of other tools that have the extension of ours, by how they begin. */
const FOREIGN: readonly (readonly [start: string, what: string])[] = [
  ['-----BEGIN SSH SIGNATURE', 'an SSH signature: verify it with ssh-keygen -Y verify'],
  ['-----BEGIN PGP SIGNATURE', 'an OpenPGP signature: verify it with gpg --verify'],
];

/** Returns what a signature is, with the tool for it, if it is none of ours; undefined otherwise. */
export function foreignSignature(content: Buffer, format: string): string | undefined {
  const start = content.subarray(0, 64).toString('latin1');
  const known = FOREIGN.find(([mark]) => start.startsWith(mark))?.[1];
  if (known !== undefined || format !== 'raw') return known;
  // A version 4 signature packet in the old or the new framing (RFC 9580 section 4.2): no DER and no RSA signature of ours has its length.
  const [first = 0, second = 0] = content;
  const isOld = (first === 0x88 && second === content.length - 2) || (first === 0x89 && content.readUInt16BE(1) === content.length - 3); // prettier-ignore
  return isOld || (first === 0xc2 && content.length > 2) ? FOREIGN[1]?.[1] : undefined;
}
