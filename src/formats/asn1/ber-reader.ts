import { DER, derHeader, MAX_HEADER_BYTES } from './der-reader.js';
import { element } from './der-writer.js';

const INDEFINITE = 0x80;
const CONSTRUCTED = 0x20;
/** Maximum nesting of elements with indefinite length. CMS and PKCS #12 use about six levels. */
const MAX_DEPTH = 32;

interface Piece {
  /** The element, encoded with a definite length. */
  readonly der: Buffer;
  /** Contents of the element, without tag and length. */
  readonly contents: Buffer;
  /** Offset after the element. */
  readonly end: number;
}

/**
 * Converts an element of indefinite length (X.690 section 8.1.3.6) to definite lengths, and joins segmented octet strings. Streaming writers of CMS and PKCS
 * #12 use indefinite lengths. Elements of definite length may be signed and are therefore not changed. Other input is returned unchanged.
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
 * Returns the version at the start of a SEQUENCE, as in PKCS #8 and PKCS #12: an INTEGER of one octet. Undefined for other bytes.
 *
 * @param head at least the first nine bytes
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
    if (end > bytes.length) throw new RangeError('the element is truncated');
    return { der: bytes.subarray(at, end), contents: bytes.subarray(at + start, end), end };
  }
  const tag = bytes[at] ?? 0;
  if ((tag & CONSTRUCTED) === 0 || depth > MAX_DEPTH) throw new RangeError('not an element of indefinite length');
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
