import { randomBytes } from 'node:crypto';
import { type BoundedStream, ProbeFault } from '../probing/bounded-stream.js';

/** Message numbers of RFC 4253 section 12 and RFC 5656 section 7.1. */
export const MSG = {
  disconnect: 1,
  ignore: 2,
  unimplemented: 3,
  debug: 4,
  extInfo: 7,
  kexInit: 20,
  kexStart: 30,
  kexReply: 31,
};
const MAX_PACKET = 35_000;
const MAX_LINES = 50;
const MAX_LINE = 8192;

/** RFC 4251 section 5 `string`. */
export function sshString(bytes: Buffer | string): Buffer {
  const body = Buffer.from(bytes as Buffer);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** RFC 4251 section 5 `mpint` of a number that is not negative. */
export function sshMpint(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const magnitude = first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
  return sshString((magnitude[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.alloc(1), magnitude]) : magnitude);
}

/** Reads the encodings of RFC 4251 section 5. Throws ProbeFault `malformed` past the end. */
export class SshReader {
  private at = 0;
  constructor(private readonly bytes: Buffer) {}

  byte(): number {
    return this.take(1)[0] as number;
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  string(): Buffer {
    return this.take(this.uint32());
  }

  skip(length: number): void {
    this.take(length);
  }

  nameList(): string[] {
    const text = this.string().toString('latin1');
    return text === '' ? [] : text.split(',').map((name) => name.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 64));
  }

  private take(length: number): Buffer {
    if (this.at + length > this.bytes.length) throw new ProbeFault('malformed', 'a message ends too early');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

/** The version exchange (RFC 4253 section 4.2): the line that begins with SSH-, after others if the server likes. */
export async function readVersion(stream: BoundedStream): Promise<string> {
  for (let lines = 0; lines < MAX_LINES; lines += 1) {
    const line = await stream.readLine(MAX_LINE);
    if (line.startsWith('SSH-')) return line;
  }
  throw new ProbeFault('malformed', 'no SSH version');
}

export function writePacket(stream: BoundedStream, payload: Buffer): void {
  const gap = 8 - ((payload.length + 5) % 8);
  const padding = gap < 4 ? gap + 8 : gap;
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length + padding + 1);
  head[4] = padding;
  stream.write(Buffer.concat([head, payload, randomBytes(padding)]));
}

/** The payload of the next message that matters. */
export async function readPacket(stream: BoundedStream): Promise<Buffer> {
  for (;;) {
    const head = await stream.read(5);
    const length = head.readUInt32BE();
    const padding = head[4] as number;
    if (length > MAX_PACKET || length < padding + 2) throw new ProbeFault('malformed', 'not an SSH packet');
    const body = await stream.read(length - 1);
    const payload = body.subarray(0, length - 1 - padding);
    const type = payload[0];
    if (type === MSG.disconnect) throw new ProbeFault('hung-up', 'disconnected');
    if (type !== MSG.ignore && type !== MSG.debug && type !== MSG.extInfo && type !== MSG.unimplemented) return payload;
  }
}

/** The lists of KEXINIT (RFC 4253 section 7.1), in the order of the server's preference. */
export interface KexInit {
  readonly kex: string[];
  readonly hostKey: string[];
  readonly ciphersIn: string[];
  readonly ciphersOut: string[];
  readonly macsIn: string[];
  readonly macsOut: string[];
  readonly compressionIn: string[];
  readonly compressionOut: string[];
  readonly languagesIn: string[];
  readonly languagesOut: string[];
}

const LISTS = [
  'kex',
  'hostKey',
  'ciphersIn',
  'ciphersOut',
  'macsIn',
  'macsOut',
  'compressionIn',
  'compressionOut',
  'languagesIn',
  'languagesOut',
] as const satisfies readonly (keyof KexInit)[];

export function readKexInit(payload: Buffer): KexInit {
  const reader = new SshReader(payload);
  if (reader.byte() !== MSG.kexInit) throw new ProbeFault('malformed', 'the first message is not KEXINIT');
  reader.skip(16);
  return Object.fromEntries(LISTS.map((name) => [name, reader.nameList()])) as unknown as KexInit;
}

export function writeKexInit(lists: KexInit): Buffer {
  const names = LISTS.map((name) => sshString(lists[name].join(',')));
  return Buffer.concat([Buffer.from([MSG.kexInit]), randomBytes(16), ...names, Buffer.alloc(5)]);
}
