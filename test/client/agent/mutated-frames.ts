import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  ay,
  bytesAttribute,
  INITIALIZE,
  mechanism,
  message,
  template,
  u,
  u32,
  ulongAttribute,
  y,
} from './pkcs11-program.js';
import type { Order, SoftwareToken } from './software-token.js';

/** Pseudo-random numbers from a seed (xorshift32), so that failures can be reproduced. */
export class Dice {
  constructor(private state: number) {}

  next(below: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % below;
  }
}

const digest = createHash('sha256').update('what is signed').digest();
const digestInfo = Buffer.concat([Buffer.from('3031300d060960864801650304020105000420', 'hex'), digest]);
const SESSION = u(1);
const ROOM = u32(1024);
const pss = Buffer.concat([u(0x250), u(2), u(32)]);

/** Messages of signing tools in their usual order. Objects 1 and 3 are the private keys. */
const SAID: readonly (readonly [number, Buffer])[] = [
  [1, INITIALIZE],
  [3, Buffer.alloc(0)],
  [4, Buffer.concat([y(1), u32(10)])],
  [5, u(0)],
  [6, u(0)],
  [7, Buffer.concat([u(0), u32(50)])],
  [8, Buffer.concat([u(0), u(1)])],
  [10, Buffer.concat([u(0), u(4)])],
  [18, Buffer.concat([SESSION, u(1), ay('1234')])],
  [13, SESSION],
  [26, Buffer.concat([SESSION, template(ulongAttribute(0, 3), bytesAttribute(3, Buffer.from('rsa')))])],
  [27, Buffer.concat([SESSION, u32(10)])],
  [28, SESSION],
  [24, Buffer.concat([SESSION, u(1), u32(3), u32(0x120), u32(512), u32(0x102), u32(20), u32(0x40000600), u32(800)])],
  [42, Buffer.concat([SESSION, mechanism(0, 1), u(1)])],
  [43, Buffer.concat([SESSION, ay(digestInfo), u32(0)])],
  [43, Buffer.concat([SESSION, ay(digestInfo), ROOM])],
  [42, Buffer.concat([SESSION, mechanism(2, 13, pss), u(1)])],
  [43, Buffer.concat([SESSION, ay(digest), ROOM])],
  [42, Buffer.concat([SESSION, mechanism(1, 0x1041), u(3)])],
  [43, Buffer.concat([SESSION, ay(digest), ROOM])],
  [42, Buffer.concat([SESSION, mechanism(0, 0x1044), u(3)])],
  [44, Buffer.concat([SESSION, ay('what is signed')])],
  [45, Buffer.concat([SESSION, ROOM])],
  [64, Buffer.concat([SESSION, u32(16)])],
  [11, SESSION],
  [2, Buffer.alloc(0)],
];

/** Mutates a message in one of the ways that often break parsers: changed bytes or lengths, truncation, or duplicated or missing parts. */
function mutated(frame: Buffer, dice: Dice): Buffer {
  const copy = Buffer.from(frame);
  const at = dice.next(copy.length);
  switch (dice.next(6)) {
    case 0:
      copy.writeUInt8(dice.next(256), at);
      return copy;
    case 1:
      copy.writeUInt8(copy.readUInt8(at) ^ (1 << dice.next(8)), at);
      return copy;
    case 2: {
      // Overwrites a length after the header, so that the next message can still be located.
      const place = 12 + dice.next(Math.max(1, copy.length - 16));
      const values = [0, 1, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff, 257];
      if (place + 4 <= copy.length) copy.writeUInt32BE(values[dice.next(values.length)] ?? 0, place);
      return copy;
    }
    case 3:
      return rewrapped(copy.subarray(0, Math.max(12, at)));
    case 4:
      return rewrapped(Buffer.concat([copy, copy.subarray(at)]));
    default:
      return rewrapped(
        Buffer.concat([
          copy.subarray(0, Math.max(12, at)),
          copy.subarray(Math.min(copy.length, at + 1 + dice.next(8))),
        ]),
      );
  }
}

/** Updates the header of a message whose length has changed. */
function rewrapped(frame: Buffer): Buffer {
  const options = Math.min(frame.readUInt32BE(4), frame.length - 12);
  const copy = Buffer.from(frame);
  copy.writeUInt32BE(options, 4);
  copy.writeUInt32BE(copy.length - 12 - options, 8);
  return copy;
}

/** Returns the messages of one conversation, with about every third message mutated. */
function conversation(dice: Dice): Buffer[] {
  return SAID.map(([call, args], index) => {
    const frame = message(index + 1, call, args);
    return dice.next(3) === 0 ? mutated(frame, dice) : frame;
  });
}

export interface FuzzResult {
  readonly frames: number;
  readonly orders: number;
  /** Signature requests whose digest does not appear in the messages that were sent. */
  readonly unasked: readonly Order[];
}

/** Sends at least `frames` messages, some of them mutated, with one connection per conversation. Checks every signature request against the messages. */
export async function sendMutated(token: SoftwareToken, frames: number, seed: number): Promise<FuzzResult> {
  const dice = new Dice(seed);
  const unasked: Order[] = [];
  let orders = 0;
  let sent = 0;
  while (sent < frames) {
    token.orders.length = 0;
    const said = conversation(dice);
    await say(token.path, dice.next(4), said);
    sent += said.length;
    orders += token.orders.length;
    unasked.push(...token.orders.filter((order) => !wasSent(order, said)));
  }
  return { frames: sent, orders, unasked };
}

/** Initializes like a normal client, then sends all messages at once and waits until the server has answered or closed the connection. */
async function say(path: string, version: number, said: readonly Buffer[]): Promise<void> {
  const socket = connect(path);
  socket.on('error', () => undefined);
  socket.write(Buffer.concat([y(version), message(0, 1, INITIALIZE)]));
  let heard = 0;
  const begun = Promise.withResolvers<void>();
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.length;
    if (heard > 1) begun.resolve();
  });
  await begun.promise;
  socket.end(Buffer.concat(said));
  await once(socket, 'close');
}

/** Reports whether the digest appears in a message or is the hash of data in the messages. */
function wasSent({ digest: asked, algorithm }: Order, said: readonly Buffer[]): boolean {
  if (said.some((frame) => frame.includes(asked))) return true;
  const parts = said.map((frame) => dataOf(frame)).filter((part) => part !== undefined);
  const alone = parts.some((part) => createHash(algorithm).update(part).digest().equals(asked));
  return alone || createHash(algorithm).digest().equals(asked);
}

/** Returns the data argument of C_Sign and C_SignUpdate, or undefined if the message is too short. */
function dataOf(frame: Buffer): Buffer | undefined {
  const start = 12 + frame.readUInt32BE(4);
  if (frame.length < start + 8) return undefined;
  const values = start + 8 + frame.readUInt32BE(start + 4) + 8;
  if (frame.length < values + 5) return undefined;
  return frame.subarray(values + 5, values + 5 + frame.readUInt32BE(values + 1));
}
