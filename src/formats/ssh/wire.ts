import { randomBytes } from 'node:crypto';

/**
 * WireReader reads the data types of RFC 4251 section 5.
 *
 * Every method throws a RangeError if the bytes end too early. A subclass can throw another error from `tooShort`.
 */
export class WireReader {
  /** @param position offset of the first byte to read */
  constructor(
    private readonly bytes: Buffer,
    private at = 0,
  ) {}

  /** Whether all bytes were read. */
  get done(): boolean {
    return this.at === this.bytes.length;
  }

  /** Offset of the next byte. */
  get position(): number {
    return this.at;
  }

  byte(): number {
    return this.take(1)[0] as number;
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  uint64(): bigint {
    return this.take(8).readBigUInt64BE();
  }

  /** Returns the bytes of a `string`. */
  string(): Buffer {
    return this.take(this.uint32());
  }

  /** Returns a `string` as UTF-8 text. */
  text(): string {
    return this.string().toString('utf8');
  }

  skip(length: number): void {
    this.take(length);
  }

  protected tooShort(): Error {
    return new RangeError('the SSH data is truncated');
  }

  private take(length: number): Buffer {
    if (length > this.bytes.length - this.at) throw this.tooShort();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
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

/** wirePacket encodes an unencrypted packet (RFC 4253 section 6). */
export function wirePacket(payload: Buffer): Buffer {
  const gap = 8 - ((payload.length + 5) % 8);
  const padding = gap < 4 ? gap + 8 : gap;
  const head = Buffer.concat([wireUint32(payload.length + padding + 1), Buffer.from([padding])]);
  return Buffer.concat([head, payload, randomBytes(padding)]);
}

/** Encodes a non-negative integer given as big-endian bytes, without leading zeros except one that keeps the number positive. */
export function wireMpint(magnitude: Buffer): Buffer {
  const first = magnitude.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.alloc(0) : magnitude.subarray(first);
  const negative = digits.length > 0 && (digits[0] ?? 0) >= 0x80;
  return wireString(negative ? Buffer.concat([Buffer.alloc(1), digits]) : digits);
}
