import { writeUuid } from '../text/uuid-bytes.js';

/** 2000-01-01, the PostgreSQL epoch, in milliseconds of Unix time. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const WORD = 2 ** 32;
/** Signature, flags and extension length of the header. */
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\u00FF\r\n\0', 'latin1'), Buffer.alloc(8)]);
const EMPTY = Buffer.alloc(0);
const TRAILER = -1;
const NULL = -1;
/** Size of the length prefix of a field, in bytes. */
export const LENGTH_BYTES = 4;
const MAX_UTF8_BYTES = 3;
/** Buffer space for any field except text: a length prefix and at most 16 bytes. */
const FIXED_BYTES = 32;

/** RowBytes is a range of a buffer that contains encoded rows. */
export interface RowBytes {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * CopyRows encodes rows in the binary format of COPY (PostgreSQL manual, COPY, "Binary Format"): each field is a length prefix and the binary
 * representation of its type. The database does not need to parse text, and no escaping is required. Start a row with `row` and write its fields in column
 * order, with null for NULL.
 */
export class CopyRows {
  private buffer: Buffer = EMPTY;
  private end = 0;

  /**
   * @param capacity buffer size in bytes: how much is usually written between two calls of `take`; a longer row gets a larger buffer
   * @param free buffers of this capacity to use before allocating new buffers, because recently written memory is in the CPU cache
   */
  constructor(
    private readonly capacity: number,
    private readonly free: Buffer[] = [],
  ) {}

  /** Starts the data of one COPY with the header. `last` ends the data. */
  static begin(capacity: number, free: Buffer[] = []): CopyRows {
    const rows = new CopyRows(capacity, free);
    rows.encoded(HEADER);
    return rows;
  }

  /** Number of bytes that have not been taken. */
  get length(): number {
    return this.end;
  }

  /** Returns the range of bytes from `start`. The range remains valid after `take`. */
  since(start: number): RowBytes {
    return { bytes: this.buffer, start, end: this.end };
  }

  /** Returns the bytes from `start`, valid until the next write. */
  view(start: number): Buffer {
    return this.buffer.subarray(start, this.end);
  }

  /** Discards the bytes that have not been taken. */
  clear(): void {
    this.end = 0;
  }

  /** Returns the written bytes. The next write starts a new buffer. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.end);
    this.buffer = EMPTY;
    this.end = 0;
    return taken;
  }

  /** Returns the remaining bytes and the trailer of the COPY. */
  last(): Buffer {
    this.row(TRAILER);
    return this.take();
  }

  row(fieldCount: number): void {
    this.reserve(FIXED_BYTES);
    this.end = this.buffer.writeInt16BE(fieldCount, this.end);
  }

  /** Writes a UUID. @param text lowercase, as 8-4-4-4-12 hexadecimal digits */
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

  bool(value: boolean): void {
    this.reserve(FIXED_BYTES);
    this.end = this.buffer.writeUInt8(value ? 1 : 0, this.buffer.writeInt32BE(1, this.end));
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

  /** Writes a time. @param text time in a format supported by Date.parse */
  timestamptz(text: string | null): void {
    if (text === null) return this.null();
    this.reserve(FIXED_BYTES);
    // Splits microseconds into two words, each of which a number represents exactly. A BigInt would cost more than the rest of the encoding.
    const milliseconds = Date.parse(text) - EPOCH_MS;
    const high = Math.floor(milliseconds / WORD);
    const low = (milliseconds - high * WORD) * 1000;
    const at = this.buffer.writeInt32BE(high * 1000 + Math.floor(low / WORD), this.buffer.writeInt32BE(8, this.end));
    this.end = this.buffer.writeInt32BE(low | 0, at);
  }

  /** Copies encoded fields or rows. */
  encoded(bytes: Buffer, start = 0, end = bytes.length): void {
    this.reserve(end - start);
    this.end += bytes.copy(this.buffer, this.end, start, end);
  }

  /** Overwrites runs of zeros with ASCII strings, each starting at the first zero after the previous string. */
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

/** bufferBehind returns the whole buffer behind the result of `take`, for reuse; empty if its capacity differs. */
export function bufferBehind(taken: Buffer, capacity: number): Buffer[] {
  return taken.buffer.byteLength === capacity ? [Buffer.from(taken.buffer)] : [];
}

/** rowsIn splits a range into its rows. */
export function* rowsIn({ bytes, start, end }: RowBytes): Generator<RowBytes> {
  for (let row = start; row < end;) {
    const next = endOfRow(bytes, row);
    yield { bytes, start: row, end: next };
    row = next;
  }
}

/** endOfRow returns the offset at which the row that begins at `start` ends. */
export function endOfRow(bytes: Buffer, start: number): number {
  let at = start + 2;
  for (let fields = bytes.readInt16BE(start); fields > 0; fields -= 1)
    at += LENGTH_BYTES + Math.max(bytes.readInt32BE(at), 0);
  return at;
}

/** uuidField encodes a UUID as a field. */
export function uuidField(id: string): Buffer {
  const field = new CopyRows(0);
  field.uuid(id);
  return field.take();
}

const UUID_OID = 2950;

/** uuidArray encodes a query parameter of type uuid[] in binary: dimensions, flags, type, length, lower bound, then the elements. */
export function uuidArray(ids: readonly string[]): Buffer {
  const head = Buffer.alloc(20);
  [1, 0, UUID_OID, ids.length, 1].forEach((value, index) => head.writeInt32BE(value, 4 * index));
  const elements = new CopyRows(head.length + 20 * ids.length + FIXED_BYTES);
  elements.encoded(head);
  for (const id of ids) elements.uuid(id);
  return elements.take();
}
