/** DER as far as keys and signatures need it (X.690). Every function returns or reads one complete TLV. */

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const SEQUENCE = 0x30;

export interface Tlv {
  readonly tag: number;
  readonly contents: Buffer;
  /** Bytes of the whole element: tag, length and contents. */
  readonly size: number;
}

export function tlv(tag: number, ...contents: Buffer[]): Buffer {
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tag]), lengthOctets(length), ...contents]);
}

export function sequence(...elements: Buffer[]): Buffer {
  return tlv(SEQUENCE, ...elements);
}

export function bitString(contents: Buffer): Buffer {
  return tlv(BIT_STRING, Buffer.from([0]), contents);
}

/** INTEGER of an unsigned big-endian number: no needless leading zero, one where the top bit would read as a sign. */
export function unsignedInteger(value: Buffer): Buffer {
  let start = 0;
  while (start < value.length - 1 && value[start] === 0) start += 1;
  const magnitude = value.subarray(start);
  return (magnitude[0] ?? 0) >= 0x80 ? tlv(INTEGER, Buffer.from([0]), magnitude) : tlv(INTEGER, magnitude);
}

/** Reads the element at the start of `bytes`. Throws RangeError on what is not definite-length DER of at most 64 KiB. */
export function readTlv(bytes: Buffer): Tlv {
  const tag = bytes[0];
  const first = bytes[1];
  if (tag === undefined || first === undefined) throw new RangeError('DER element is cut short');
  if (first === 0x80 || first > 0x82) throw new RangeError('DER length is not definite or too long');
  const header = first < 0x80 ? 2 : 2 + (first - 0x80);
  if (bytes.length < header) throw new RangeError('DER element is cut short');
  const length = first < 0x80 ? first : bytes.readUIntBE(2, first - 0x80);
  if (bytes.length < header + length) throw new RangeError('DER element is cut short');
  return { tag, contents: bytes.subarray(header, header + length), size: header + length };
}

/** Contents of a SEQUENCE's elements, in order. */
export function readSequence(bytes: Buffer): Tlv[] {
  const outer = readTlv(bytes);
  if (outer.tag !== SEQUENCE || outer.size !== bytes.length) throw new RangeError('not one DER SEQUENCE');
  const elements: Tlv[] = [];
  for (let rest = outer.contents; rest.length > 0;) {
    const element = readTlv(rest);
    elements.push(element);
    rest = rest.subarray(element.size);
  }
  return elements;
}

/** Contents of an INTEGER that must not be negative, without its sign octet. */
export function readUnsignedInteger(element: Tlv): Buffer {
  const { tag, contents } = element;
  const first = contents[0];
  if (tag !== INTEGER || first === undefined || first >= 0x80) throw new RangeError('not a DER INTEGER of at least 0');
  if (first === 0 && contents.length > 1 && (contents[1] ?? 0) < 0x80)
    throw new RangeError('DER INTEGER is not minimal');
  return first === 0 && contents.length > 1 ? contents.subarray(1) : contents;
}

/** Contents of a BIT STRING of whole octets. */
export function readBitString(element: Tlv): Buffer {
  if (element.tag !== BIT_STRING || element.contents[0] !== 0) throw new RangeError('not a DER BIT STRING of octets');
  return element.contents.subarray(1);
}

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  if (length < 0x100) return Buffer.from([0x81, length]);
  if (length < 0x10000) return Buffer.from([0x82, length >> 8, length & 0xff]);
  throw new RangeError('DER element is too long');
}
