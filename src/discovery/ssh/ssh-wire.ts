import { randomBytes } from 'node:crypto';
import { KEX_INIT_LISTS, KEX_INIT_MESSAGE, type KexInit, readKexInitLists } from '../../formats/ssh/kex-init.js';
import { wirePacket, WireReader, wireString } from '../../formats/ssh/wire.js';
import { type BoundedStream, ProbeFault } from '../probing/bounded-stream.js';

/** Message numbers of RFC 4253 section 12 and RFC 5656 section 7.1. */
export const MSG = {
  disconnect: 1,
  ignore: 2,
  unimplemented: 3,
  debug: 4,
  extInfo: 7,
  kexInit: KEX_INIT_MESSAGE,
  kexStart: 30,
  kexReply: 31,
};
const MAX_PACKET = 35_000;
const MAX_LINES = 50;
const MAX_LINE = 8192;

/** MessageReader parses a message from the peer. Throws ProbeFault `malformed` when reading past the end of the message. */
export class MessageReader extends WireReader {
  protected override tooShort(): Error {
    return new ProbeFault('malformed', 'the message is truncated');
  }
}

/** readVersion reads the server's identification string (RFC 4253 section 4.2), which begins with `SSH-` and may be preceded by other lines. */
export async function readVersion(stream: BoundedStream): Promise<string> {
  for (let lines = 0; lines < MAX_LINES; lines += 1) {
    const line = await stream.readLine(MAX_LINE);
    if (line.startsWith('SSH-')) return line;
  }
  throw new ProbeFault('malformed', 'the server did not send an SSH version');
}

export function writePacket(stream: BoundedStream, payload: Buffer): void {
  stream.write(wirePacket(payload));
}

/** readPacket returns the payload of the next message, skipping messages that carry no information for the probe. */
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

export function readKexInit(payload: Buffer): KexInit {
  const reader = new MessageReader(payload);
  if (reader.byte() !== MSG.kexInit) throw new ProbeFault('malformed', 'the first message is not KEXINIT');
  return readKexInitLists(reader);
}

export function writeKexInit(lists: KexInit): Buffer {
  const names = KEX_INIT_LISTS.map((name) => wireString(lists[name].join(',')));
  return Buffer.concat([Buffer.from([MSG.kexInit]), randomBytes(16), ...names, Buffer.alloc(5)]);
}
