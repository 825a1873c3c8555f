/** DER maps types to their tags (X.690 section 8). */

export const DER = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
} as const;

/** DerElement is one element of DER data. */
export interface DerElement {
  readonly tag: number;
  readonly contents: Buffer;
  /** Tag, length and contents. */
  readonly raw: Buffer;
}

/** MAX_HEADER_BYTES is enough for the identifier and length octets of every supported element. */
export const MAX_HEADER_BYTES = 6;

/**
 * Reads the identifier and length octets (X.690 section 8.1) at the start of `head`. Returns the tag, the number of these octets, and the number of content
 * octets that follow.
 *
 * @throws RangeError for a tag of 31 or above, an indefinite length, a length of more than four octets, or if `head` is too short
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
 * Returns the consecutive elements in `bytes`.
 *
 * @throws RangeError if the bytes are not DER with tags below 31
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

/**
 * Returns the elements inside an element. Empty if the element is undefined.
 *
 * @throws RangeError like `derElements`
 */
export function elementsInside(element: DerElement | undefined): DerElement[] {
  return element === undefined ? [] : derElements(element.contents);
}

/**
 * Returns the elements of the single SEQUENCE in `bytes`.
 *
 * @throws RangeError for anything else
 */
export function elementsOfSequence(bytes: Buffer): DerElement[] {
  return derElements(contentsOf(only(bytes), DER.sequence));
}

/**
 * Returns the octets of the single OCTET STRING in `bytes`.
 *
 * @throws RangeError for anything else
 */
export function octetsOf(bytes: Buffer): Buffer {
  return contentsOf(only(bytes), DER.octetString);
}

/** Returns the octets of a non-negative INTEGER without its sign octet. */
export function unsignedOf(element: DerElement): Buffer {
  const contents = contentsOf(element, DER.integer);
  const [first, second = 0] = contents;
  if (first === undefined || first >= 0x80) throw new RangeError('not a non-negative DER INTEGER');
  if (first > 0 || contents.length === 1) return contents;
  if (second < 0x80) throw new RangeError('DER INTEGER is not minimal');
  return contents.subarray(1);
}

/** Returns the octets of a BIT STRING without unused bits. */
export function bitStringOf(element: DerElement): Buffer {
  const contents = contentsOf(element, DER.bitString);
  if (contents[0] !== 0) throw new RangeError('not a DER BIT STRING of whole bytes');
  return contents.subarray(1);
}

function contentsOf(element: DerElement | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new RangeError(`not a single DER element with tag ${tag}`);
  return element.contents;
}

function only(bytes: Buffer): DerElement | undefined {
  const first = firstElement(bytes);
  return first.raw.length === bytes.length ? first : undefined;
}

/**
 * Returns the first element in `bytes`. More elements may follow.
 *
 * @throws RangeError if the bytes do not start with an element
 */
export function firstElement(bytes: Buffer): DerElement {
  const { tag, start, length } = derHeader(bytes);
  const end = start + length;
  if (end > bytes.length) throw new RangeError('a DER element is truncated');
  return { tag, contents: bytes.subarray(start, end), raw: bytes.subarray(0, end) };
}

/** Maximum length of an object identifier. Arcs are unbounded, and so is the cost of formatting them. */
const MAX_OID_BYTES = 128;

/**
 * Formats OBJECT IDENTIFIER contents in dotted form (X.690 section 8.19).
 *
 * @throws RangeError if the contents are too long
 */
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
 * Parses UTCTime or GeneralizedTime, including offsets and missing seconds, which DER forbids but some old certification authorities wrote. Returns Invalid
 * Date for other input.
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

/** Returns the bit length of a non-negative big-endian integer, such as a DER INTEGER or an SSH mpint. 0 for zero. */
export function bitLength(integer: Uint8Array): number {
  let start = 0;
  while (start < integer.length && integer[start] === 0) start += 1;
  const top = integer[start];
  return top === undefined ? 0 : (integer.length - start) * 8 - Math.clz32(top) + 24;
}
