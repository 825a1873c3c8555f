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
/** A text that is signed in clear is written again behind its hash, so it is held whole. */
const MAX_CLEARTEXT_BYTES = 64 * 1024 * 1024;
/** The same for a document that is signed inline. */
export const MAX_INLINE_BYTES = 512 * 1024 * 1024;

/** Where the bytes of a document come from. */
export interface DocumentSource {
  /** Descriptors and files, one behind the other; none is standard input. */
  readonly places: readonly (number | string)[];
  /** A descriptor whose first line is a passphrase (`--passphrase-fd`). It is no part of the document, and nobody needs it. */
  readonly passphraseFd?: number | undefined;
}

/** What is signed: the hashed part of the signature, and the digest over document and trailer. */
export interface GpgDigest {
  readonly hashedPart: Buffer;
  readonly digest: Buffer;
}

interface GpgSignatureFacts {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly madeAt: Date;
  readonly hash: PgpHash;
  readonly at: Date;
}

/** Signature type of a binary document, and of a text, whose line endings do not count. */
export function signatureTypeOf(isText: boolean): number {
  return isText ? PGP_SIGNATURE.text : PGP_SIGNATURE.binary;
}

/** Hashes a document piece by piece; `isText` changes its line endings to CR LF. */
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

/** The digest of a text that is signed in clear. */
export function digestOfCleartext(text: Buffer, facts: GpgSignatureFacts): GpgDigest {
  const hashedPart = hashedPartOf(facts, PGP_SIGNATURE.text);
  const hash = createHash(facts.hash).update(canonicalCleartext(text));
  return { hashedPart, digest: hash.update(trailerOf(hashedPart)).digest() };
}

/** The digest of a document that is at hand, as it is signed: with the line endings of a text. */
export function digestOfContent(content: Buffer, facts: GpgSignatureFacts, isText: boolean): GpgDigest {
  const hashedPart = hashedPartOf(facts, signatureTypeOf(isText));
  const hash = createHash(facts.hash).update(content);
  return { hashedPart, digest: hash.update(trailerOf(hashedPart)).digest() };
}

/** A whole document that is written again with its signature. ClientError when it is too large. */
export async function readWhole(source: DocumentSource, maxBytes = MAX_CLEARTEXT_BYTES): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces(source)) {
    length += piece.length;
    if (length > maxBytes)
      throw new ClientError(EXIT.failed, `The document is larger than ${maxBytes >> 20} MB, the maximum for inline signatures. Make a detached signature: --detach-sign.`); // prettier-ignore
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
