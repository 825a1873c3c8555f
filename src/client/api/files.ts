import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { PGP_TAG, pgpPackets } from '../../formats/openpgp/packets.js';
import { ClientError, EXIT, usageError } from './exit-codes.js';

export const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha3-256', 'sha3-384', 'sha3-512'];

const READ_BYTES = 1 << 20;

/** EXTENSION maps each signature format to the extension of its signature files. */
export const EXTENSION: Readonly<Record<string, string>> = {
  raw: '.sig',
  cms: '.p7s',
  jws: '.jws',
  'sigstore-bundle': '.sigstore.json',
};
/** TOKEN_EXTENSION is the extension of a TimeStampToken for signature formats that cannot contain timestamps. */
export const TOKEN_EXTENSION = '.tst';

/** Versions of OpenPGP signature packets (RFC 9580 section 5.2). */
const PGP_VERSIONS = new Set([3, 4, 6]);

/** HashProgress is called with the number of bytes that have been hashed. */
export type HashProgress = (file: string, done: number, total: number) => void;

/** Returns the base64 hash of a file. The file is read in chunks and never leaves this machine. */
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
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${error instanceof Error ? error.message : 'unknown'}`);
  }
  return hash.digest('base64');
}

export function assertFormat(format: string): void {
  if (format in EXTENSION) return;
  throw usageError(
    `--format must be one of ${Object.keys(EXTENSION).join(', ')}. Authenticode requires more than a digest.`,
  );
}

/** FoundSignature is a signature file and its format. */
export interface FoundSignature {
  readonly format: string;
  readonly path: string;
}

/**
 * Returns the signatures of a file: the named signature, or all signatures next to the file with the extension of a signature format.
 *
 * @throws ClientError if there is no signature
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
  throw new ClientError(EXIT.failed, `No detached signature of ${file} was found.`);
}

/** Signatures by other tools with the same file extension, identified by their first characters. */
const FOREIGN: readonly (readonly [start: string, what: string])[] = [
  ['-----BEGIN SSH SIGNATURE', 'an SSH signature: verify it with ssh-keygen -Y verify'],
  ['-----BEGIN PGP SIGNATURE', 'an OpenPGP signature: verify it with gpg --verify'],
];

/** foreignSignature describes a signature by another tool, and the tool that verifies the signature. Returns undefined for signatures by the service. */
export function foreignSignature(content: Buffer, format: string): string | undefined {
  const start = content.subarray(0, 64).toString('latin1');
  const known = FOREIGN.find(([mark]) => start.startsWith(mark))?.[1];
  if (known !== undefined || format !== 'raw') return known;
  return isOpenPgpSignature(content) ? FOREIGN[1]?.[1] : undefined;
}

/**
 * Reports whether the content is one OpenPGP signature packet with a matching length. The first octet is not sufficient, because a raw signature can start with
 * the same octet.
 */
function isOpenPgpSignature(content: Buffer): boolean {
  try {
    const [packet, ...more] = [...pgpPackets(content)];
    return packet?.tag === PGP_TAG.signature && PGP_VERSIONS.has(packet.body[0] ?? 0) && more.length === 0;
  } catch {
    return false;
  }
}
