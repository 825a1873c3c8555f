import { writeUuid } from '../../text/uuid.js';

/** 2000-01-01, from which PostgreSQL counts, in milliseconds of Unix time. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const WORD = 2 ** 32;
/** Signature, flags and length of the header's extension. */
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\u00FF\r\n\0', 'latin1'), Buffer.alloc(8)]);
const EMPTY = Buffer.alloc(0);
const TRAILER = -1;
const NULL = -1;
/** Bytes of the length that stands before a field. */
export const LENGTH_BYTES = 4;
const MAX_UTF8_BYTES = 3;
/** Enough for any field but a text: a length and at most 16 bytes. */
const FIXED_BYTES = 32;

/** Encoded rows, where they are kept. */
export interface RowBytes {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Encodes rows in the binary format of COPY (PostgreSQL manual, COPY, "Binary Format"): each field is a length and the bytes that the
 * type has on the wire. The database need not parse it, and nothing must be escaped. A row begins with `row`; its fields follow in the
 * order of the columns, null as NULL.
 */
export class CopyRows {
  private buffer: Buffer = EMPTY;
  private end = 0;

  /**
   * @param capacity of a buffer, in bytes: how much is usually written before it is taken. What is longer gets a buffer of its own.
   * @param free buffers of this capacity to use before new ones are allocated: memory that was written to lately is in the cache.
   */
  constructor(
    private readonly capacity: number,
    private readonly free: Buffer[] = [],
  ) {}

  /** The data of one COPY, from its header to `last`. */
  static begin(capacity: number, free: Buffer[] = []): CopyRows {
    const rows = new CopyRows(capacity, free);
    rows.encoded(HEADER);
    return rows;
  }

  /** Bytes that were not taken yet. */
  get length(): number {
    return this.end;
  }

  /** The bytes from `start` on, where they are kept: they stay there when they are taken. */
  since(start: number): RowBytes {
    return { bytes: this.buffer, start, end: this.end };
  }

  /** The bytes from `start` on, valid until the next write. */
  view(start: number): Buffer {
    return this.buffer.subarray(start, this.end);
  }

  /** Drops what was not taken. */
  clear(): void {
    this.end = 0;
  }

  /** Takes the bytes out; the next write begins a new buffer. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.end);
    this.buffer = EMPTY;
    this.end = 0;
    return taken;
  }

  /** Takes the rest, with the trailer of the COPY. */
  last(): Buffer {
    this.row(TRAILER);
    return this.take();
  }

  row(fieldCount: number): void {
    this.reserve(FIXED_BYTES);
    this.end = this.buffer.writeInt16BE(fieldCount, this.end);
  }

  /** @param text in lower case, as 8-4-4-4-12 hexadecimal digits. */
  uuid(text: string | null): void {
    if (text === null) return this.null();
    this.reserve(FIXED_BYTES);
    this.end = writeUuid(this.buffer, text, this.buffer.writeInt32BE(16, this.end));
  }

  text(text: string | null): void {
    if (text === null) return this.null();
    this.reserve(FIXED_BYTES + text.length * MAX_UTF8_BYTES);
    const start = this.end + LENGTH_BYTES;
    const end = start + this.buffer.write(text, start);
    this.buffer.writeInt32BE(end - start, this.end);
    this.end = end;
  }

  int4(value: number | null): void {
    if (value === null) return this.null();
    this.reserve(FIXED_BYTES);
    this.end = this.buffer.writeInt32BE(value, this.buffer.writeInt32BE(4, this.end));
  }

  int2(value: number | null): void {
    if (value === null) return this.null();
    this.reserve(FIXED_BYTES);
    this.end = this.buffer.writeInt16BE(value, this.buffer.writeInt32BE(2, this.end));
  }

  /** @param text a time that Date.parse reads. */
  timestamptz(text: string | null): void {
    if (text === null) return this.null();
    this.reserve(FIXED_BYTES);
    // Microseconds as two words, each of which a number holds exactly: a BigInt costs more than all the rest.
    const milliseconds = Date.parse(text) - EPOCH_MS;
    const high = Math.floor(milliseconds / WORD);
    const low = (milliseconds - high * WORD) * 1000;
    const at = this.buffer.writeInt32BE(high * 1000 + Math.floor(low / WORD), this.buffer.writeInt32BE(8, this.end));
    this.end = this.buffer.writeInt32BE(low | 0, at);
  }

  /** Copies fields or rows that are encoded already. */
  encoded(bytes: Buffer, start = 0, end = bytes.length): void {
    this.reserve(end - start);
    this.end += bytes.copy(this.buffer, this.end, start, end);
  }

  /** Writes ASCII texts over runs of zeros, each over the first run behind the text before. */
  fillZeros(from: number, texts: readonly string[]): void {
    let at = from;
    for (const text of texts) {
      at = this.buffer.indexOf(0, at);
      at += this.buffer.write(text, at, 'latin1');
    }
  }

  private null(): void {
    this.reserve(FIXED_BYTES);
    this.end = this.buffer.writeInt32BE(NULL, this.end);
  }

  private reserve(length: number): void {
    const needed = this.end + length;
    if (needed <= this.buffer.length) return;
    const larger =
      needed <= this.capacity
        ? (this.free.pop() ?? Buffer.allocUnsafeSlow(this.capacity))
        : Buffer.allocUnsafeSlow(2 * needed);
    this.buffer.copy(larger, 0, 0, this.end);
    this.buffer = larger;
  }
}

/** The whole buffer behind bytes that were taken, to be used again; none when it has another capacity. */
export function bufferBehind(taken: Buffer, capacity: number): Buffer[] {
  return taken.buffer.byteLength === capacity ? [Buffer.from(taken.buffer)] : [];
}

/** Splits consecutive rows. */
export function* rowsIn({ bytes, start, end }: RowBytes): Generator<RowBytes> {
  for (let row = start; row < end;) {
    const next = endOfRow(bytes, row);
    yield { bytes, start: row, end: next };
    row = next;
  }
}

/** Where the row ends that begins at `start`. */
export function endOfRow(bytes: Buffer, start: number): number {
  let at = start + 2;
  for (let fields = bytes.readInt16BE(start); fields > 0; fields -= 1)
    at += LENGTH_BYTES + Math.max(bytes.readInt32BE(at), 0);
  return at;
}

/** A UUID as an encoded field. */
export function uuidField(id: string): Buffer {
  const field = new CopyRows(0);
  field.uuid(id);
  return field.take();
}

const UUID_OID = 2950;

/** A query parameter of type uuid[] in binary: dimensions, flags, type, length, lower bound, then the elements. */
export function uuidArray(ids: readonly string[]): Buffer {
  const head = Buffer.alloc(20);
  [1, 0, UUID_OID, ids.length, 1].forEach((value, index) => head.writeInt32BE(value, 4 * index));
  const elements = new CopyRows(head.length + 20 * ids.length + FIXED_BYTES);
  elements.encoded(head);
  for (const id of ids) elements.uuid(id);
  return elements.take();
}
