/** 2000-01-01, from which PostgreSQL counts, in milliseconds of Unix time. */
const EPOCH = Date.UTC(2000, 0, 1);
/** Of 32 bits. */
const WORD = 2 ** 32;
/** Signature, flags and length of the header's extension. */
const HEAD = Buffer.concat([Buffer.from('PGCOPY\n\u00FF\r\n\0', 'latin1'), Buffer.alloc(8)]);
const NOTHING = Buffer.alloc(0);
const END = -1;
const NULL = -1;
/** Bytes of the length that stands before a field. */
export const LENGTH = 4;
const MAX_BYTES_OF_A_CHARACTER = 3;
/** Of all fields but texts: a length and at most 16 bytes. */
const FIXED = 32;

/** Rows that were written and are kept where they are. */
export interface RowBytes {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Rows in the binary format of COPY (PostgreSQL manual, COPY, "Binary Format"): each field a length and the bytes that the type has on
 * the wire. The database need not parse it, and nothing must be escaped. Fields are written in the order of the columns, `null` as NULL.
 */
export class CopyRows {
  private buffer: Buffer = NOTHING;
  private end = 0;

  /**
   * @param capacity bytes that are about to be written before they are taken.
   * @param spare memory of that size that nobody uses any more, to be taken before any other: what was written to lately is near the
   * processor, and what never was must first be had from the system.
   */
  constructor(
    private readonly capacity: number,
    private readonly spare: Buffer[] = [],
  ) {}

  /** What one COPY sends, from its header to `last`. */
  static begin(capacity: number, spare: Buffer[] = []): CopyRows {
    const rows = new CopyRows(capacity, spare);
    rows.fields(HEAD);
    return rows;
  }

  /** Bytes that were not taken yet. */
  get length(): number {
    return this.end;
  }

  /** What was written behind this place, as it is now. */
  since(start: number): RowBytes {
    return { bytes: this.buffer, start, end: this.end };
  }

  /** What was written behind this place, to be read before anything else is written. */
  view(start: number): Buffer {
    return this.buffer.subarray(start, this.end);
  }

  /** Forgets what was written. */
  clear(): void {
    this.end = 0;
  }

  /** What was written since it was last asked for. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.end);
    this.buffer = NOTHING;
    this.end = 0;
    return taken;
  }

  /** The rest, and that nothing follows. */
  last(): Buffer {
    this.row(END);
    return this.take();
  }

  row(fields: number): void {
    this.room(FIXED);
    this.end = this.buffer.writeInt16BE(fields, this.end);
  }

  /** In lower case, as 8-4-4-4-12 hexadecimal digits. */
  uuid(text: string | null): void {
    if (text === null) return this.nothing();
    this.room(FIXED);
    const { buffer } = this;
    const at = buffer.writeInt32BE(16, this.end);
    for (let index = 0; index < 16; index += 1) {
      const place = BYTES_OF_UUID[index] ?? 0;
      buffer[at + index] = ((DIGITS[text.charCodeAt(place)] ?? 0) << 4) | (DIGITS[text.charCodeAt(place + 1)] ?? 0);
    }
    this.end = at + 16;
  }

  text(text: string | null): void {
    if (text === null) this.nothing();
    else this.field(text);
  }

  int4(value: number | null): void {
    if (value === null) return this.nothing();
    this.room(FIXED);
    this.end = this.buffer.writeInt32BE(value, this.buffer.writeInt32BE(4, this.end));
  }

  int2(value: number | null): void {
    if (value === null) return this.nothing();
    this.room(FIXED);
    this.end = this.buffer.writeInt16BE(value, this.buffer.writeInt32BE(2, this.end));
  }

  /** A time that Date.parse reads. */
  timestamptz(text: string | null): void {
    if (text === null) return this.nothing();
    this.room(FIXED);
    // In two halves, each of which is exact: a BigInt costs more than all the rest.
    const milliseconds = Date.parse(text) - EPOCH;
    const high = Math.floor(milliseconds / WORD);
    const low = (milliseconds - high * WORD) * 1000;
    const at = this.buffer.writeInt32BE(high * 1000 + Math.floor(low / WORD), this.buffer.writeInt32BE(8, this.end));
    this.end = this.buffer.writeInt32BE(low | 0, at);
  }

  /** Fields that were written elsewhere. */
  fields(bytes: Buffer, start = 0, end = bytes.length): void {
    this.room(end - start);
    this.end += bytes.copy(this.buffer, this.end, start, end);
  }

  /** Puts texts of ASCII where zeros stand in their place: each begins at the first zero behind the one before. */
  fillZeros(from: number, texts: readonly string[]): void {
    let at = from;
    for (const text of texts) {
      at = this.buffer.indexOf(0, at);
      at += this.buffer.write(text, at, 'latin1');
    }
  }

  private field(text: string): void {
    this.room(FIXED + text.length * MAX_BYTES_OF_A_CHARACTER);
    const start = this.end + LENGTH;
    const end = start + this.buffer.write(text, start);
    this.buffer.writeInt32BE(end - start, this.end);
    this.end = end;
  }

  private nothing(): void {
    this.room(FIXED);
    this.end = this.buffer.writeInt32BE(NULL, this.end);
  }

  private memory(): Buffer {
    return this.spare.pop() ?? Buffer.allocUnsafeSlow(this.capacity);
  }

  private room(length: number): void {
    const needed = this.end + length;
    if (needed <= this.buffer.length) return;
    const larger = needed <= this.capacity ? this.memory() : Buffer.allocUnsafeSlow(2 * needed);
    this.buffer.copy(larger, 0, 0, this.end);
    this.buffer = larger;
  }
}

/** The memory that a part of it was taken from, if it is of this size. */
export function memoryOf(taken: Buffer, capacity: number): Buffer[] {
  return taken.buffer.byteLength === capacity ? [Buffer.from(taken.buffer)] : [];
}

/** Where rows stand one behind the other. */
export function* rowsIn({ bytes, start, end }: RowBytes): Generator<RowBytes> {
  for (let row = start; row < end;) {
    let at = row + 2;
    for (let fields = bytes.readInt16BE(row); fields > 0; fields -= 1)
      at += LENGTH + Math.max(bytes.readInt32BE(at), 0);
    yield { bytes, start: row, end: at };
    row = at;
  }
}

/** As a text. */
export function uuidAt(bytes: Buffer, at: number): string {
  return bytes.toString('hex', at, at + 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Where the digits of each byte are. */
const BYTES_OF_UUID = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);
/** What a digit stands for, by its code. */
const DIGITS = new Uint8Array(128);
for (const digit of '0123456789abcdef') DIGITS[digit.charCodeAt(0)] = Number.parseInt(digit, 16);

const UUID_TYPE = 2950;

/** A parameter of type uuid[] in the binary format of the protocol: dimensions, flags, type, length, lower bound, then the elements. */
export function uuidArray(ids: readonly string[]): Buffer {
  const head = Buffer.alloc(20);
  [1, 0, UUID_TYPE, ids.length, 1].forEach((value, index) => head.writeInt32BE(value, 4 * index));
  const elements = new CopyRows(head.length + 20 * ids.length + FIXED);
  elements.fields(head);
  for (const id of ids) elements.uuid(id);
  return elements.take();
}
