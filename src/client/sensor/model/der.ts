import { DER, derHeader, dotted, MAX_HEADER_BYTES } from '../../../formats/asn1/der-reader.js';

/** ByteWindow provides access to bytes. Only the requested ranges are read. */
export interface ByteWindow {
  readonly length: number;
  bytes(start: number, end: number): Buffer;
}

/** Base64Window decodes only the requested part of a base64 string. The rest remains encoded. */
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

/** WindowElement is the position of a DER element (X.690). Its contents are read on demand. */
export class WindowElement {
  private constructor(
    private readonly window: ByteWindow,
    readonly tag: number,
    private readonly at: number,
    /** Offset at which the contents start. */
    readonly start: number,
    readonly end: number,
  ) {}

  /** @throws RangeError if the bytes are not DER with tags below 31, or are truncated */
  static at(window: ByteWindow, at: number): WindowElement {
    const { tag, start: offset, length } = derHeader(window.bytes(at, Math.min(at + MAX_HEADER_BYTES, window.length)));
    const start = at + offset;
    const end = start + length;
    if (end > window.length) throw new RangeError('the DER is truncated');
    return new WindowElement(window, tag, at, start, end);
  }

  get length(): number {
    return this.end - this.start;
  }

  contents(): Buffer {
    return this.window.bytes(this.start, this.end);
  }

  /** Returns the whole element: tag, length and contents. */
  raw(): Buffer {
    return this.window.bytes(this.at, this.end);
  }

  /** Returns the inner elements without reading their contents. */
  children(): WindowElement[] {
    const found: WindowElement[] = [];
    for (let at = this.start; at < this.end;) {
      const element = WindowElement.at(this.window, at);
      found.push(element);
      at = element.end;
    }
    return found;
  }

  /** Parses the contents as an element. Used for an OCTET STRING that contains an element. */
  inside(): WindowElement {
    return WindowElement.at(this.window, this.start);
  }

  /** Returns an OBJECT IDENTIFIER in dotted form (X.690 section 8.19). */
  oid(): string {
    if (this.tag !== DER.oid) throw new RangeError('not an object identifier');
    return dotted(this.contents());
  }

  /** Returns the bit length of an unsigned INTEGER, reading only its first two octets. */
  bits(): number {
    const [lead = 0, next = 0] = this.window.bytes(this.start, Math.min(this.start + 2, this.end));
    const [top, length] = lead === 0 ? [next, this.length - 1] : [lead, this.length];
    return length * 8 - (Math.clz32(top) - 24);
  }

  small(): number {
    if (this.tag !== DER.integer || this.length > 4) throw new RangeError('not a small integer');
    return this.contents().readIntBE(0, this.length);
  }
}
