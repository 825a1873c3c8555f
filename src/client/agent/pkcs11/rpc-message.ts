import type { CKR } from '../../../formats/pkcs/cryptoki.js';
import { attributeKindOf } from './attributes.js';

/** RpcFault is thrown for a message that violates the protocol. The response is CKR_DEVICE_ERROR, as in p11-kit's own server. */
export class RpcFault extends Error {}

export type ReturnValue = (typeof CKR)[keyof typeof CKR];

/** CryptokiFault ends a call with an error code. Tools display at most the code. The reason is printed on the terminal if the user can act on it. */
export class CryptokiFault extends Error {
  constructor(
    readonly code: ReturnValue,
    readonly reason?: string,
  ) {
    super(`CKR 0x${code.toString(16)}`);
  }
}

const MAX_ATTRIBUTES = 256;
const MAX_NESTING = 4;
/** Length that encodes a null array. */
const NULL_LENGTH = 0xff_ff_ff_ff;

/** Room is the space that the client has for a response. */
export interface Room {
  /** Whether the client requests only the length of the response. */
  readonly asksLength: boolean;
  readonly size: number;
}

export interface RpcAttribute {
  readonly type: number;
  /** Value in the encoding of attributes.ts. Undefined if the value cannot be compared with attributes. */
  readonly value: Buffer | undefined;
}

export interface RpcMechanism {
  /** Undefined for the null mechanism, which ends an operation. */
  readonly type: number | undefined;
  readonly parameters: Buffer;
}

/** RpcReader reads the arguments of one call. It checks each length against the remaining bytes and throws RpcFault for malformed arguments. */
export class RpcReader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  byte(): number {
    return this.take(1).readUInt8();
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  /** Reads a CK_ULONG. Values beyond the safe integer range become inexact, but no valid handle, type or flag is that large. */
  ulong(): number {
    return Number(this.take(8).readBigUInt64BE());
  }

  /** Reads `ay`: a flag byte, followed by the bytes or only by their length. */
  byteArray(): Buffer {
    if (this.byte() !== 0) return this.counted();
    this.uint32();
    return Buffer.alloc(0);
  }

  /** Reads `s` and `z`, and the bytes of `ay`. */
  counted(): Buffer {
    const length = this.uint32();
    return length === NULL_LENGTH ? Buffer.alloc(0) : this.take(length);
  }

  /** Reads `fy` and `fu`. */
  room(): Room {
    const size = this.uint32();
    return size === NULL_LENGTH ? { asksLength: false, size: 0 } : { asksLength: size === 0, size };
  }

  /** Reads `fA`: the types of the requested attributes, and the space available for each value. A size of 0 requests only the length. */
  attributeRooms(): { readonly type: number; readonly size: number }[] {
    return Array.from({ length: this.count() }, () => ({ type: this.uint32(), size: this.uint32() }));
  }

  /** Reads `aA`, a template. */
  template(depth = 1): RpcAttribute[] {
    if (depth > MAX_NESTING) throw new RpcFault('templates are nested too deeply');
    return Array.from({ length: this.count() }, () => this.attribute(depth));
  }

  /**
   * Reads `M`, whose end is not marked. Up to p11-kit 0.25.5, a null array follows a mechanism without parameters, and the parameters follow any other
   * mechanism. Later versions send either nothing, or a byte and the parameters. The number of bytes after the mechanism must therefore be known.
   *
   * @param following number of bytes in the message after the mechanism
   */
  mechanism(following: number): RpcMechanism {
    const type = this.uint32();
    const left = this.bytes.length - this.at - following;
    if (left < 0) throw new RpcFault('the mechanism is truncated');
    const rest = this.take(left);
    if (type === NULL_LENGTH) return { type: undefined, parameters: Buffer.alloc(0) };
    if (left === 4 && rest.readUInt32BE() === NULL_LENGTH) return { type, parameters: Buffer.alloc(0) };
    // The size of parameters is a multiple of CK_ULONG, so one extra byte is the flag that precedes the parameters.
    return { type, parameters: left % 8 === 1 ? rest.subarray(1) : rest };
  }

  /** @throws RpcFault if bytes remain */
  end(): void {
    if (this.at !== this.bytes.length) throw new RpcFault('the message is longer than its arguments');
  }

  private attribute(depth: number): RpcAttribute {
    const type = this.uint32();
    if (this.byte() === 0) return { type, value: undefined };
    this.uint32();
    switch (attributeKindOf(type)) {
      case 'boolean':
        return { type, value: this.take(1) };
      case 'ulong':
        return { type, value: this.take(8) };
      case 'mechanisms':
        return { type, value: this.take(8 * this.count()) };
      case 'nested':
        this.template(depth + 1);
        return { type, value: undefined };
      case 'bytes':
        return { type, value: this.counted() };
    }
  }

  private count(): number {
    const count = this.uint32();
    if (count > MAX_ATTRIBUTES) throw new RpcFault('too many items');
    return count;
  }

  private take(length: number): Buffer {
    const end = this.at + length;
    if (end > this.bytes.length) throw new RpcFault('the message is truncated');
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }
}

/** RpcWriter encodes the values of one response. */
export class RpcWriter {
  private readonly parts: Buffer[] = [];

  byte(value: number): this {
    return this.raw(Buffer.from([value]));
  }

  uint32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return this.raw(bytes);
  }

  ulong(value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return this.raw(bytes);
  }

  counted(bytes: Buffer): this {
    return this.uint32(bytes.length).raw(bytes);
  }

  /** Writes `s`, padded with blanks and truncated at a character boundary. */
  padded(text: string, length: number): this {
    const bytes = Buffer.alloc(length, ' ');
    new TextEncoder().encodeInto(text, bytes);
    return this.counted(bytes);
  }

  /** Writes `v`, a version. */
  version(major: number, minor: number): this {
    return this.byte(major).byte(minor);
  }

  /** Writes `ay`, or only the length if the client has too little room. */
  byteArray(bytes: Buffer, { asksLength, size }: Room): this {
    return asksLength || bytes.length > size ? this.byte(0).uint32(bytes.length) : this.byte(1).counted(bytes);
  }

  /** Writes `au`, or only the length if the client has too little room. */
  ulongArray(values: readonly number[], { asksLength, size }: Room): this {
    const fits = !asksLength && values.length <= size;
    this.byte(fits ? 1 : 0).uint32(values.length);
    if (fits) for (const value of values) this.ulong(value);
    return this;
  }

  /** Writes one item of `aA`. The value is undefined if the attribute is not available. */
  attribute(type: number, value: Buffer | undefined): this {
    this.uint32(type).byte(value === undefined ? 0 : 1);
    if (value === undefined) return this;
    this.uint32(value.length);
    switch (attributeKindOf(type)) {
      case 'boolean':
      case 'ulong':
        return this.raw(value);
      case 'mechanisms':
        return this.uint32(value.length / 8).raw(value);
      case 'nested':
      case 'bytes':
        return this.counted(value);
    }
  }

  bytes(): Buffer {
    return Buffer.concat(this.parts);
  }

  private raw(bytes: Buffer): this {
    this.parts.push(bytes);
    return this;
  }
}
