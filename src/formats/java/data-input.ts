/**
 * DataInput reads values written by `java.io.DataOutput`.
 *
 * Every method throws a RangeError if the bytes end too early.
 */
export class DataInput {
  /** @param at offset of the first byte to read */
  constructor(
    private readonly bytes: Buffer,
    private at = 0,
  ) {}

  /** Offset of the next byte. */
  get position(): number {
    return this.at;
  }

  octet(): number {
    return this.take(1).readUInt8();
  }

  /** Reads an unsigned 16-bit number. */
  short(): number {
    return this.take(2).readUInt16BE();
  }

  /** Reads an unsigned 32-bit number. */
  number(): number {
    return this.take(4).readUInt32BE();
  }

  /** Reads a `writeUTF` string: two octets of length, then the text. NUL is removed because databases cannot store it. */
  text(): string {
    return this.take(this.short()).toString('utf8').replaceAll('\u0000', '');
  }

  /** Reads octets preceded by their 32-bit length. */
  block(): Buffer {
    return this.take(this.number());
  }

  skip(count: number): void {
    this.take(count);
  }

  take(count: number): Buffer {
    const end = this.at + count;
    if (end > this.bytes.length) throw new RangeError('the Java object stream is truncated');
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }
}
