/** One DER element (X.690) as it stands in the bytes. */
export interface DerElement {
  readonly tag: number;
  readonly contents: Buffer;
  /** Tag, length and contents. */
  readonly raw: Buffer;
}

export const DER = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  sequence: 0x30,
} as const;

/**
 * The elements that follow each other in `bytes`, for parameters that no schema at hand describes.
 *
 * @throws RangeError on what is not DER with tags below 31.
 */
export function derElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at + 1] ?? 0x80;
    const octets = first < 0x80 ? 0 : first - 0x80;
    const start = at + 2 + octets;
    if (first === 0x80 || octets > 4 || start > bytes.length) throw new RangeError('not a DER element');
    const end = start + (octets === 0 ? first : bytes.readUIntBE(at + 2, octets));
    if (end > bytes.length) throw new RangeError('a DER element is cut short');
    elements.push({ tag: bytes[at] ?? 0, contents: bytes.subarray(start, end), raw: bytes.subarray(at, end) });
    at = end;
  }
  return elements;
}

/** Bits of an unsigned INTEGER. */
export function bitLength(integer: Uint8Array): number {
  let start = 0;
  while (start < integer.length && integer[start] === 0) start += 1;
  const top = integer[start];
  return top === undefined ? 0 : (integer.length - start) * 8 - Math.clz32(top) + 24;
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
