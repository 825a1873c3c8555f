import { DER, derHeader, dotted, MAX_HEADER_BYTES } from '../../../formats/asn1/der-reader.js';

/** Bytes of which only what is asked for is looked at. */
export interface ByteWindow {
  readonly length: number;
  bytes(start: number, end: number): Buffer;
}

/** Base64 of which only the asked part is decoded: what lies beyond stays letters. */
export class Base64Window implements ByteWindow {
  private readonly text: string;
  readonly length: number;

  constructor(text: string) {
    this.text = text.replaceAll(/\s+/g, '');
    const padding = this.text.endsWith('==') ? 2 : Number(this.text.endsWith('='));
    this.length = Math.floor(((this.text.length - padding) * 3) / 4);
  }

  bytes(start: number, end: number): Buffer {
    const from = Math.floor(start / 3);
    const decoded = Buffer.from(this.text.slice(from * 4, Math.ceil(end / 3) * 4), 'base64');
    return decoded.subarray(start - from * 3, end - from * 3);
  }
}

export class BufferWindow implements ByteWindow {
  constructor(private readonly buffer: Buffer) {}

  get length(): number {
    return this.buffer.length;
  }

  bytes(start: number, end: number): Buffer {
    return this.buffer.subarray(start, end);
  }
}

/** A DER element (X.690) by its place; its contents are read when they are asked for. */
export class WindowElement {
  private constructor(
    private readonly window: ByteWindow,
    readonly tag: number,
    private readonly at: number,
    /** Where the contents begin. */
    readonly start: number,
    readonly end: number,
  ) {}

  /** @throws RangeError on what is not DER with tags below 31, or is cut short. */
  static at(window: ByteWindow, at: number): WindowElement {
    const { tag, start: offset, length } = derHeader(window.bytes(at, Math.min(at + MAX_HEADER_BYTES, window.length)));
    const start = at + offset;
    const end = start + length;
    if (end > window.length) throw new RangeError('DER that is cut short');
    return new WindowElement(window, tag, at, start, end);
  }

  get length(): number {
    return this.end - this.start;
  }

  contents(): Buffer {
    return this.window.bytes(this.start, this.end);
  }

  /** Tag, length and contents. */
  raw(): Buffer {
    return this.window.bytes(this.at, this.end);
  }

  /** The elements inside; contents are not read. */
  children(): WindowElement[] {
    const found: WindowElement[] = [];
    for (let at = this.start; at < this.end;) {
      const element = WindowElement.at(this.window, at);
      found.push(element);
      at = element.end;
    }
    return found;
  }

  /** The same bytes as an element: what an OCTET STRING holds. */
  inside(): WindowElement {
    return WindowElement.at(this.window, this.start);
  }

  /** OBJECT IDENTIFIER in dotted form (X.690 section 8.19). */
  oid(): string {
    if (this.tag !== DER.oid) throw new RangeError('no object identifier');
    return dotted(this.contents());
  }

  /** Bits of an unsigned INTEGER, by its first octets alone. */
  bits(): number {
    const [lead = 0, next = 0] = this.window.bytes(this.start, Math.min(this.start + 2, this.end));
    const [top, length] = lead === 0 ? [next, this.length - 1] : [lead, this.length];
    return length * 8 - (Math.clz32(top) - 24);
  }

  small(): number {
    if (this.tag !== DER.integer || this.length > 4) throw new RangeError('no small number');
    return this.contents().readIntBE(0, this.length);
  }
}
