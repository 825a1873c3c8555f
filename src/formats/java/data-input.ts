/**
 * Reads what a `java.io.DataOutput` has written, one value after another.
 *
 * Every method throws a RangeError when the bytes end too early.
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

  /** Two octets, unsigned. */
  short(): number {
    return this.take(2).readUInt16BE();
  }

  /** Four octets, unsigned. */
  number(): number {
    return this.take(4).readUInt32BE();
  }

  /** `writeUTF`: its length in two octets before it. NUL, which no database stores, is left out. */
  text(): string {
    return this.take(this.short()).toString('utf8').replaceAll('\u0000', '');
  }

  /** Octets with their number, in four, before them. */
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
