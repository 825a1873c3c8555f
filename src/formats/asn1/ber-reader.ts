import { DER, derHeader, MAX_HEADER_BYTES } from './der-reader.js';
import { element } from './der-writer.js';

const INDEFINITE = 0x80;
const CONSTRUCTED = 0x20;
/** Elements of indefinite length within each other; CMS and PKCS #12 have about six. */
const MAX_DEPTH = 32;

interface Piece {
  /** The element with a definite length. */
  readonly der: Buffer;
  /** Its contents, where it is a string. */
  readonly contents: Buffer;
  /** The place behind it. */
  readonly end: number;
}

/**
 * Bytes that begin with an element of indefinite length (X.690 section 8.1.3.6), as programs write CMS and PKCS #12 that make them piece by
 * piece: with definite lengths, and with strings of octets in one. Elements of definite length stay as they are, since they may be signed. All
 * other bytes are answered as they came.
 */
export function withDefiniteLengths(bytes: Buffer): Buffer {
  if (bytes[1] !== INDEFINITE) return bytes;
  try {
    return pieceAt(bytes, 0, 0).der;
  } catch {
    return bytes;
  }
}

/**
 * The version that a SEQUENCE begins with, as PKCS #8, #12 and others do: an INTEGER of one octet; undefined for bytes that begin otherwise.
 *
 * @param head the first nine bytes, or more.
 */
export function leadingVersion(head: Buffer): number | undefined {
  try {
    const start = head[1] === INDEFINITE ? 2 : derHeader(head).start;
    const version = derHeader(head.subarray(start));
    const isVersion = head[0] === DER.sequence && version.tag === DER.integer && version.length === 1;
    return isVersion ? head[start + version.start] : undefined;
  } catch {
    return undefined;
  }
}

function pieceAt(bytes: Buffer, at: number, depth: number): Piece {
  if (bytes[at + 1] !== INDEFINITE) {
    const { start, length } = derHeader(bytes.subarray(at, at + MAX_HEADER_BYTES));
    const end = at + start + length;
    if (end > bytes.length) throw new RangeError('an element is cut short');
    return { der: bytes.subarray(at, end), contents: bytes.subarray(at + start, end), end };
  }
  const tag = bytes[at] ?? 0;
  if ((tag & CONSTRUCTED) === 0 || depth > MAX_DEPTH) throw new RangeError('no element of indefinite length');
  const isString = tag === (DER.octetString | CONSTRUCTED);
  const parts: Buffer[] = [];
  let end = at + 2;
  while (bytes[end] !== 0 || bytes[end + 1] !== 0) {
    const piece = pieceAt(bytes, end, depth + 1);
    parts.push(isString ? piece.contents : piece.der);
    end = piece.end;
  }
  const contents = Buffer.concat(parts);
  return { der: element(isString ? DER.octetString : tag, contents), contents, end: end + 2 };
}
