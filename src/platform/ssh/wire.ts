/** Reads the data types of RFC 4251 section 5. Throws a RangeError when the bytes end too early. */
export class WireReader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get done(): boolean {
    return this.at === this.bytes.length;
  }

  /** Bytes that were read. */
  get position(): number {
    return this.at;
  }

  uint32(): number {
    const value = this.bytes.readUInt32BE(this.at);
    this.at += 4;
    return value;
  }

  uint64(): bigint {
    const value = this.bytes.readBigUInt64BE(this.at);
    this.at += 8;
    return value;
  }

  string(): Buffer {
    const length = this.uint32();
    if (length > this.bytes.length - this.at) throw new RangeError('a string reaches over the end');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    return this.string().toString('utf8');
  }
}

export function wireUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function wireUint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

export function wireString(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([wireUint32(bytes.length), bytes]);
}

/** A non-negative integer, given as big-endian bytes: no leading zeros but the one that keeps it positive. */
export function wireMpint(magnitude: Buffer): Buffer {
  const first = magnitude.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.alloc(0) : magnitude.subarray(first);
  const negative = digits.length > 0 && (digits[0] ?? 0) >= 0x80;
  return wireString(negative ? Buffer.concat([Buffer.alloc(1), digits]) : digits);
}
