import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { canonicalCleartext, TextLines } from '../../formats/openpgp/cleartext.js';
import {
  openPgpFingerprintOf,
  fourOctets,
  keyBody,
  pgpAlgorithmOf,
  pgpSeconds,
} from '../../formats/openpgp/key-packet.js';
import {
  issuerSubpacket,
  PGP_SIGNATURE,
  type PgpHash,
  subpacket,
  trailerOf,
  writeHashedPart,
} from '../../formats/openpgp/signature-packet.js';
import { PGP_SUBPACKET } from '../../formats/openpgp/signatures.js';
import { ClientError, EXIT } from '../api/exit-codes.js';

const STDIN = 0;
/** Maximum size of a cleartext-signed document in bytes. The document is held in memory, because it is hashed first and written afterwards. */
const MAX_CLEARTEXT_BYTES = 64 * 1024 * 1024;
/** MAX_INLINE_BYTES is the maximum size in bytes of a document that is signed inline. The document is held in memory. */
export const MAX_INLINE_BYTES = 512 * 1024 * 1024;

/** DocumentSource describes where the bytes of a document come from. */
export interface DocumentSource {
  /** Descriptors and files, which are concatenated in order. Empty means standard input. */
  readonly places: readonly (number | string)[];
  /** Descriptor whose first line is a passphrase (`--passphrase-fd`). The line is skipped, because no passphrase is needed. */
  readonly passphraseFd?: number | undefined;
}

/** GpgDigest contains the hashed part of the signature, and the digest of the document and the trailer. */
export interface GpgDigest {
  readonly hashedPart: Buffer;
  readonly digest: Buffer;
}

interface GpgSignatureFacts {
  /** Public key as SubjectPublicKeyInfo in DER. */
  readonly publicKey: Buffer;
  readonly madeAt: Date;
  readonly hash: PgpHash;
  readonly at: Date;
}

/** Returns the signature type of a binary document, or of a text document, whose line endings are normalized. */
export function signatureTypeOf(isText: boolean): number {
  return isText ? PGP_SIGNATURE.text : PGP_SIGNATURE.binary;
}

/** Hashes a document in chunks. `isText` converts line endings to CR LF. */
export async function digestOfDocument(
  source: DocumentSource,
  facts: GpgSignatureFacts,
  isText: boolean,
): Promise<GpgDigest> {
  const hash = createHash(facts.hash);
  const text = isText ? new TextLines() : undefined;
  for await (const piece of pieces(source)) hash.update(text?.next(piece) ?? piece);
  const hashedPart = hashedPartOf(facts, signatureTypeOf(isText));
  return { hashedPart, digest: hash.update(trailerOf(hashedPart)).digest() };
}

/** Returns the digest of a cleartext-signed text. */
export function digestOfCleartext(text: Buffer, facts: GpgSignatureFacts): GpgDigest {
  const hashedPart = hashedPartOf(facts, PGP_SIGNATURE.text);
  const hash = createHash(facts.hash).update(canonicalCleartext(text));
  return { hashedPart, digest: hash.update(trailerOf(hashedPart)).digest() };
}

/** Returns the digest of content in memory. Text must already have the line endings that the signature covers. */
export function digestOfContent(content: Buffer, facts: GpgSignatureFacts, isText: boolean): GpgDigest {
  const hashedPart = hashedPartOf(facts, signatureTypeOf(isText));
  const hash = createHash(facts.hash).update(content);
  return { hashedPart, digest: hash.update(trailerOf(hashedPart)).digest() };
}

/**
 * Reads a document that is written again together with its signature.
 *
 * @throws ClientError if the document is too large
 */
export async function readWhole(source: DocumentSource, maxBytes = MAX_CLEARTEXT_BYTES): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces(source)) {
    length += piece.length;
    if (length > maxBytes)
      throw new ClientError(EXIT.failed, `The document is larger than ${maxBytes >> 20} MB, the maximum for inline signatures. Create a detached signature: --detach-sign.`); // prettier-ignore
    parts.push(piece);
  }
  return Buffer.concat(parts);
}

async function* pieces({ places, passphraseFd }: DocumentSource): AsyncGenerator<Buffer> {
  for (const one of places.length === 0 ? [STDIN] : places) {
    const stream =
      typeof one === 'number' ? createReadStream('', { fd: one, autoClose: false }) : createReadStream(one);
    let isPassphrase = one === passphraseFd;
    for await (const piece of stream as AsyncIterable<Buffer>) {
      const end = isPassphrase ? piece.indexOf('\n') : -1;
      if (!isPassphrase) yield piece;
      else if (end >= 0) {
        isPassphrase = false;
        yield piece.subarray(end + 1);
      }
    }
  }
}

function hashedPartOf({ publicKey, madeAt, hash, at }: GpgSignatureFacts, type: number): Buffer {
  const subpackets = [
    issuerSubpacket(openPgpFingerprintOf(keyBody({ publicKey, madeAt }))),
    subpacket(PGP_SUBPACKET.created, fourOctets(pgpSeconds(at))),
  ];
  return writeHashedPart({ type, algorithm: pgpAlgorithmOf(publicKey), hash, subpackets });
}
