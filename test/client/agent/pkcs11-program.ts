import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Argument types of the calls used here, by call number, in the notation of p11-kit's protocol. */
const REQUESTS: Readonly<Record<number, string>> = {
  1: 'ayyay',
  2: '',
  3: '',
  4: 'yfu',
  5: 'u',
  6: 'u',
  7: 'ufu',
  8: 'uu',
  10: 'uu',
  11: 'u',
  13: 'u',
  18: 'uuay',
  20: 'uaA',
  24: 'uufA',
  26: 'uaA',
  27: 'ufu',
  28: 'u',
  42: 'uMu',
  43: 'uayfy',
  44: 'uay',
  45: 'ufy',
  64: 'ufy',
};

/** Encoders for message arguments, named after the types of p11-kit's protocol. */
export const y = (value: number): Buffer => Buffer.from([value]);
export const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
export const u = (value: number): Buffer => Buffer.concat([u32(0), u32(value)]);
export const ay = (bytes: Buffer | string): Buffer =>
  Buffer.concat([y(1), u32(Buffer.byteLength(bytes)), Buffer.from(bytes)]);
/** Encodes an attribute of type CK_ULONG. */
export const ulongAttribute = (type: number, value: number): Buffer =>
  Buffer.concat([u32(type), y(1), u32(8), u(value)]);
export const bytesAttribute = (type: number, bytes: Buffer): Buffer =>
  Buffer.concat([u32(type), y(1), u32(bytes.length), u32(bytes.length), bytes]);
export const template = (...attributes: Buffer[]): Buffer => Buffer.concat([u32(attributes.length), ...attributes]);

const NULL_ARRAY = Buffer.alloc(4, 0xff);

/** Encodes a mechanism, the only value whose encoding depends on the protocol version. */
export function mechanism(version: number, type: number, parameters: Buffer = Buffer.alloc(0)): Buffer {
  if (version < 2) return Buffer.concat([u32(type), parameters.length > 0 ? parameters : NULL_ARRAY]);
  return Buffer.concat([u32(type), ...(parameters.length > 0 ? [y(1), parameters] : [])]);
}

export const INITIALIZE = Buffer.concat([ay('PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-1'), y(0), ay('')]);

/** Encodes a message, which consists of a number, options, the call with its argument types, and the arguments. */
export function message(
  number: number,
  call: number,
  args: Buffer = Buffer.alloc(0),
  types = REQUESTS[call] ?? '',
): Buffer {
  const options = Buffer.from('sealwright');
  const body = Buffer.concat([u32(call), u32(types.length), Buffer.from(types), args]);
  return Buffer.concat([u32(number), u32(options.length), u32(body.length), options, body]);
}

export interface RpcAnswer {
  readonly number: number;
  /** Call number; 0 if the call failed. */
  readonly call: number;
  readonly types: string;
  readonly values: Buffer;
  /** CK_RV of a failed call; 0 on success. */
  readonly code: number;
}

/** Simulates a program that loaded p11-kit's module: encodes requests and decodes responses. Shares no code with the server. */
export class Pkcs11Program {
  private received = Buffer.alloc(0);
  private number = 0;

  private constructor(
    readonly socket: Socket,
    readonly version: number,
  ) {
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      socket.emit('more');
    });
    socket.on('error', () => undefined);
    socket.setMaxListeners(0);
  }

  /** Connects and negotiates a protocol version. */
  static async connect(path: string, version = 0): Promise<Pkcs11Program> {
    const socket = connect(path);
    await once(socket, 'connect');
    socket.write(y(version));
    const [agreed] = (await once(socket, 'data')) as [Buffer];
    return new Pkcs11Program(socket, agreed.readUInt8());
  }

  /** Connects, initializes and opens a session. `session` is the session handle. */
  static async ready(path: string, version = 0): Promise<{ program: Pkcs11Program; session: number }> {
    const program = await Pkcs11Program.connect(path, version);
    await program.call(1, INITIALIZE);
    const { values } = await program.call(10, Buffer.concat([u(0), u(4)]));
    return { program, session: Number(values.readBigUInt64BE()) };
  }

  async call(call: number, args?: Buffer, types?: string): Promise<RpcAnswer> {
    this.number += 1;
    this.socket.write(message(this.number, call, args, types));
    return this.answerTo(this.number);
  }

  /** Returns the response with this number, regardless of the order in which responses arrive. */
  async answerTo(number: number): Promise<RpcAnswer> {
    for (;;) {
      for (let at = 0; at + 12 <= this.received.length;) {
        const length = 12 + this.received.readUInt32BE(at + 4) + this.received.readUInt32BE(at + 8);
        if (at + length > this.received.length) break;
        if (this.received.readUInt32BE(at) === number) {
          const found = read(this.received.subarray(at, at + length));
          this.received = Buffer.concat([this.received.subarray(0, at), this.received.subarray(at + length)]);
          return found;
        }
        at += length;
      }
      if (this.socket.destroyed) throw new Error('the connection is closed');
      await Promise.race([once(this.socket, 'more'), once(this.socket, 'close')]);
    }
  }

  /** Returns the handles of objects that match the template. */
  async find(session: number, ...attributes: Buffer[]): Promise<number[]> {
    await this.call(26, Buffer.concat([u(session), template(...attributes)]));
    const { values } = await this.call(27, Buffer.concat([u(session), u32(100)]));
    await this.call(28, u(session));
    return Array.from({ length: values.readUInt32BE(1) }, (_, i) => Number(values.readBigUInt64BE(5 + 8 * i)));
  }

  /** Calls C_SignInit and C_Sign. */
  async sign(session: number, key: number, mechanismBytes: Buffer, data: Buffer): Promise<RpcAnswer> {
    const begun = await this.call(42, Buffer.concat([u(session), mechanismBytes, u(key)]));
    if (begun.code !== 0) return begun;
    return this.call(43, Buffer.concat([u(session), ay(data), u32(1024)]));
  }
}

function read(frame: Buffer): RpcAnswer {
  const start = 12 + frame.readUInt32BE(4);
  const call = frame.readUInt32BE(start);
  const typesLength = frame.readUInt32BE(start + 4);
  const values = frame.subarray(start + 8 + typesLength);
  const types = frame.toString('latin1', start + 8, start + 8 + typesLength);
  return {
    number: frame.readUInt32BE(0),
    call,
    types,
    values,
    code: call === 0 ? Number(values.readBigUInt64BE()) : 0,
  };
}

/** Returns the bytes of an `ay` response, or undefined if the response contains only a length. */
export function arrayOf({ values }: RpcAnswer): Buffer | undefined {
  return values.readUInt8() === 0 ? undefined : values.subarray(5);
}
