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

export const TAG = { integer: 2, bitString: 3, octets: 4, oid: 6, sequence: 0x30 } as const;

/** A DER element (X.690) by its place; its contents are read when they are asked for. */
export class DerElement {
  private constructor(
    private readonly window: ByteWindow,
    readonly tag: number,
    /** Of the contents. */
    readonly start: number,
    readonly end: number,
  ) {}

  /** @throws RangeError on what is not DER with tags below 31, or is cut short. */
  static at(window: ByteWindow, at: number): DerElement {
    const head = window.bytes(at, Math.min(at + 6, window.length));
    const first = head[1] ?? 0x80;
    const octets = first < 0x80 ? 0 : first - 0x80;
    if (first === 0x80 || octets > 4 || head.length < 2 + octets) throw new RangeError('not DER');
    const start = at + 2 + octets;
    const end = start + (octets === 0 ? first : head.readUIntBE(2, octets));
    if (end > window.length) throw new RangeError('DER that is cut short');
    return new DerElement(window, head[0] ?? 0, start, end);
  }

  static of(buffer: Buffer): DerElement {
    return DerElement.at(new BufferWindow(buffer), 0);
  }

  get length(): number {
    return this.end - this.start;
  }

  contents(): Buffer {
    return this.window.bytes(this.start, this.end);
  }

  /** The elements inside; contents are not read. */
  children(): DerElement[] {
    const found: DerElement[] = [];
    for (let at = this.start; at < this.end;) {
      const element = DerElement.at(this.window, at);
      found.push(element);
      at = element.end;
    }
    return found;
  }

  /** The same bytes as an element: what an OCTET STRING holds. */
  inside(): DerElement {
    return DerElement.at(this.window, this.start);
  }

  /** OBJECT IDENTIFIER in dotted form (X.690 section 8.19). */
  oid(): string {
    if (this.tag !== TAG.oid) throw new RangeError('no object identifier');
    const arcs: number[] = [];
    let arc = 0;
    for (const octet of this.contents()) {
      arc = arc * 128 + (octet & 0x7f);
      if (octet >= 0x80) continue;
      arcs.push(arc);
      arc = 0;
    }
    const [first = 0, ...rest] = arcs;
    const top = first < 80 ? Math.floor(first / 40) : 2;
    return [top, first - top * 40, ...rest].join('.');
  }

  /** Bits of an unsigned INTEGER, by its first octets alone. */
  bits(): number {
    const [lead = 0, next = 0] = this.window.bytes(this.start, Math.min(this.start + 2, this.end));
    const [top, length] = lead === 0 ? [next, this.length - 1] : [lead, this.length];
    return length * 8 - (Math.clz32(top) - 24);
  }

  small(): number {
    if (this.tag !== TAG.integer || this.length > 4) throw new RangeError('no small number');
    return this.contents().readIntBE(0, this.length);
  }
}

/** An element that has to be there. RangeError when it is not. */
export function there(element: DerElement | undefined): DerElement {
  if (element === undefined) throw new RangeError('a part of the DER is missing');
  return element;
}

export function members(element: DerElement | undefined): DerElement[] {
  return there(element).children();
}

export function member(element: DerElement | undefined, index: number): DerElement {
  return there(members(element)[index]);
}
