/** DER as others wrote it (X.690), element by element. */

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const SEQUENCE = 0x30;

/** One element as it stands in the bytes. */
export interface Element {
  readonly tag: number;
  readonly contents: Buffer;
  /** Tag, length and contents. */
  readonly raw: Buffer;
}

/** The elements that follow each other in `bytes`. RangeError on what is not DER with tags below 31. */
export function elementsIn(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const first = firstElement(rest);
    elements.push(first);
    rest = rest.subarray(first.raw.length);
  }
  return elements;
}

/** The elements of the one SEQUENCE that `bytes` are. RangeError on anything else. */
export function elementsOfSequence(bytes: Buffer): Element[] {
  return elementsIn(contentsOf(only(bytes), SEQUENCE));
}

/** The octets of the one OCTET STRING that `bytes` are. RangeError on anything else. */
export function octetsOf(bytes: Buffer): Buffer {
  return contentsOf(only(bytes), OCTET_STRING);
}

/** Octets of an INTEGER that is not negative, without its sign octet. */
export function unsignedOf(element: Element): Buffer {
  const contents = contentsOf(element, INTEGER);
  const [first, second = 0] = contents;
  if (first === undefined || first >= 0x80) throw new RangeError('not a DER INTEGER of at least 0');
  if (first > 0 || contents.length === 1) return contents;
  if (second < 0x80) throw new RangeError('DER INTEGER is not minimal');
  return contents.subarray(1);
}

/** Octets of a BIT STRING that has whole ones. */
export function bitStringOf(element: Element): Buffer {
  const contents = contentsOf(element, BIT_STRING);
  if (contents[0] !== 0) throw new RangeError('not a DER BIT STRING of octets');
  return contents.subarray(1);
}

function contentsOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new RangeError(`not one DER element of the tag ${tag}`);
  return element.contents;
}

function only(bytes: Buffer): Element | undefined {
  const first = firstElement(bytes);
  return first.raw.length === bytes.length ? first : undefined;
}

function firstElement(bytes: Buffer): Element {
  const tag = bytes[0] ?? 0x1f;
  const first = bytes[1] ?? 0x80;
  const octets = first < 0x80 ? 0 : first - 0x80;
  if ((tag & 0x1f) === 0x1f || first === 0x80 || octets > 4 || bytes.length < 2 + octets)
    throw new RangeError('not a DER element');
  const length = octets === 0 ? first : bytes.readUIntBE(2, octets);
  const end = 2 + octets + length;
  if (end > bytes.length) throw new RangeError('a DER element is cut short');
  return { tag, contents: bytes.subarray(2 + octets, end), raw: bytes.subarray(0, end) };
}
