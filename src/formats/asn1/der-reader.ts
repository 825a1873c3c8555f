/** DER as others wrote it (X.690), element by element: the only reader of it that is not driven by a schema. */

export const DER = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
} as const;

/** One element as it stands in the bytes. */
export interface DerElement {
  readonly tag: number;
  readonly contents: Buffer;
  /** Tag, length and contents. */
  readonly raw: Buffer;
}

/** Bytes that are enough for the identifier and length octets of any element that is read. */
export const MAX_HEADER_BYTES = 6;

/**
 * Identifier and length octets (X.690 section 8.1) at the beginning of `head`: the tag, how many octets they take, and how many octets of
 * contents follow.
 *
 * @throws RangeError for a tag of 31 and above, an indefinite length, a length of more than four octets, and when `head` ends too early.
 */
export function derHeader(head: Buffer): { readonly tag: number; readonly start: number; readonly length: number } {
  const tag = head[0] ?? 0x1f;
  const first = head[1] ?? 0x80;
  const octets = first < 0x80 ? 0 : first - 0x80;
  if ((tag & 0x1f) === 0x1f || first === 0x80 || octets > 4 || head.length < 2 + octets)
    throw new RangeError('not a DER element');
  return { tag, start: 2 + octets, length: octets === 0 ? first : head.readUIntBE(2, octets) };
}

/**
 * The elements that follow each other in `bytes`.
 *
 * @throws RangeError on what is not DER with tags below 31.
 */
export function derElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const first = firstElement(rest);
    elements.push(first);
    rest = rest.subarray(first.raw.length);
  }
  return elements;
}

/** The elements that an element is made of; none of one that is not there. RangeError as of `derElements`. */
export function elementsInside(element: DerElement | undefined): DerElement[] {
  return element === undefined ? [] : derElements(element.contents);
}

/** The elements of the one SEQUENCE that `bytes` are. RangeError on anything else. */
export function elementsOfSequence(bytes: Buffer): DerElement[] {
  return derElements(contentsOf(only(bytes), DER.sequence));
}

/** The octets of the one OCTET STRING that `bytes` are. RangeError on anything else. */
export function octetsOf(bytes: Buffer): Buffer {
  return contentsOf(only(bytes), DER.octetString);
}

/** Octets of an INTEGER that is not negative, without its sign octet. */
export function unsignedOf(element: DerElement): Buffer {
  const contents = contentsOf(element, DER.integer);
  const [first, second = 0] = contents;
  if (first === undefined || first >= 0x80) throw new RangeError('not a DER INTEGER of at least 0');
  if (first > 0 || contents.length === 1) return contents;
  if (second < 0x80) throw new RangeError('DER INTEGER is not minimal');
  return contents.subarray(1);
}

/** Octets of a BIT STRING that has whole ones. */
export function bitStringOf(element: DerElement): Buffer {
  const contents = contentsOf(element, DER.bitString);
  if (contents[0] !== 0) throw new RangeError('not a DER BIT STRING of octets');
  return contents.subarray(1);
}

function contentsOf(element: DerElement | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new RangeError(`not one DER element of the tag ${tag}`);
  return element.contents;
}

function only(bytes: Buffer): DerElement | undefined {
  const first = firstElement(bytes);
  return first.raw.length === bytes.length ? first : undefined;
}

/** The element that `bytes` begin with; others may follow. RangeError when they begin with none. */
export function firstElement(bytes: Buffer): DerElement {
  const { tag, start, length } = derHeader(bytes);
  const end = start + length;
  if (end > bytes.length) throw new RangeError('a DER element is cut short');
  return { tag, contents: bytes.subarray(start, end), raw: bytes.subarray(0, end) };
}

/** Octets of the longest object identifier that is read: arcs grow without end, and so does what it costs to write them out. */
const MAX_OID_BYTES = 128;

/** OBJECT IDENTIFIER contents in dotted form (X.690 section 8.19). RangeError when they are too long. */
export function dotted(contents: Buffer): string {
  if (contents.length > MAX_OID_BYTES) throw new RangeError('an object identifier is too long');
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const octet of contents) {
    arc = (arc << 7n) | BigInt(octet & 0x7f);
    if (octet >= 0x80) continue;
    arcs.push(arc);
    arc = 0n;
  }
  const [first = 0n, ...rest] = arcs;
  const top = first < 80n ? first / 40n : 2n;
  return [top, first - top * 40n, ...rest].join('.');
}

/**
 * UTCTime or GeneralizedTime, also with an offset or without seconds, which DER forbids and old authorities wrote;
 * Invalid Date for what is neither.
 */
export function derTime({ tag, contents }: DerElement): Date {
  const digits = tag === DER.utcTime ? 2 : 4;
  const pattern = new RegExp(
    `^(\\d{${digits}})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d(?:\\.\\d+)?)?(?:Z|([+-]\\d\\d)(\\d\\d))?$`,
  );
  const [, year, month, day, hour, minute, second = '00', offset, minutes] =
    pattern.exec(contents.toString('latin1')) ?? [];
  if (year === undefined) return new Date(NaN);
  const full = digits === 4 ? year : `${Number(year) < 50 ? '20' : '19'}${year}`;
  const zone = offset === undefined ? 'Z' : `${offset}:${minutes}`;
  return new Date(`${full}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
}

/** Length in bits of a big-endian integer that is not negative: an INTEGER of DER, an mpint of SSH. 0 for zero. */
export function bitLength(integer: Uint8Array): number {
  let start = 0;
  while (start < integer.length && integer[start] === 0) start += 1;
  const top = integer[start];
  return top === undefined ? 0 : (integer.length - start) * 8 - Math.clz32(top) + 24;
}
