import { wireUint32 } from '../../../formats/ssh/wire.js';

/** Message numbers of the agent protocol (draft-miller-ssh-agent section 7.1). */
export const AGENT = {
  failure: 5,
  requestIdentities: 11,
  identitiesAnswer: 12,
  signRequest: 13,
  signResponse: 14,
} as const;

/** MAX_MESSAGE_BYTES is the maximum message size. OpenSSH's own agent has the same limit. */
export const MAX_MESSAGE_BYTES = 256 * 1024;
const LENGTH_BYTES = 4;

export interface AgentMessage {
  readonly type: number;
  readonly contents: Buffer;
}

/** Encodes a message with its length prefix (section 3). */
export function agentFrame(type: number, ...contents: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from([type]), ...contents]);
  return Buffer.concat([wireUint32(body.length), body]);
}

/** AgentFrames assembles messages from the chunks received on a connection. */
export class AgentFrames {
  private readonly pieces: Buffer[] = [];
  private length = 0;

  /**
   * Adds a chunk and returns the messages that are now complete.
   *
   * @throws RangeError for a length of 0 or above MAX_MESSAGE_BYTES, which indicates another protocol
   */
  add(piece: Buffer): AgentMessage[] {
    this.pieces.push(piece);
    this.length += piece.length;
    const whole: AgentMessage[] = [];
    for (let message = this.next(); message !== undefined; message = this.next()) whole.push(message);
    return whole;
  }

  private next(): AgentMessage | undefined {
    if (this.length < LENGTH_BYTES) return undefined;
    const size = this.head(LENGTH_BYTES).readUInt32BE(0);
    if (size === 0 || size > MAX_MESSAGE_BYTES) throw new RangeError('not a message of the agent protocol');
    if (this.length < LENGTH_BYTES + size) return undefined;
    const all = this.head(LENGTH_BYTES + size);
    const body = all.subarray(LENGTH_BYTES, LENGTH_BYTES + size);
    this.pieces.splice(0, this.pieces.length, all.subarray(LENGTH_BYTES + size));
    this.length -= LENGTH_BYTES + size;
    return { type: body.readUInt8(0), contents: Buffer.from(body.subarray(1)) };
  }

  /** Joins chunks until the first chunk contains the given number of bytes. Small chunks are copied once, when their message is complete. */
  private head(bytes: number): Buffer {
    const [first = Buffer.alloc(0)] = this.pieces;
    if (first.length >= bytes) return first;
    const all = Buffer.concat(this.pieces);
    this.pieces.splice(0, this.pieces.length, all);
    return all;
  }
}
