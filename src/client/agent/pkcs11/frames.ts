import { RpcFault } from './rpc-message.js';

/** MAX_BODY_BYTES is the maximum size of a message body. Tools hash large inputs themselves or send the input in parts. */
export const MAX_BODY_BYTES = 4 << 20;
const MAX_OPTIONS_BYTES = 4096;
const MAX_SIGNATURE_BYTES = 64;
const HEADER_BYTES = 12;

/** Frame is one message from a client. The response repeats the number of the message. */
export interface Frame {
  readonly number: number;
  readonly body: Buffer;
}

interface Question {
  readonly call: number;
  /** Types of the arguments, in the notation of the protocol. */
  readonly signature: string;
  readonly args: Buffer;
}

/** FrameReader splits a byte stream into messages. Memory is allocated only for bytes that have arrived. */
export class FrameReader {
  private parts: Buffer[] = [];
  private held = 0;

  /**
   * Adds a chunk and returns the messages that are now complete.
   *
   * @throws RpcFault if a message announces more than the maximum size
   */
  push(chunk: Buffer): Frame[] {
    this.parts.push(chunk);
    this.held += chunk.length;
    const frames: Frame[] = [];
    for (let frame = this.next(); frame !== undefined; frame = this.next()) frames.push(frame);
    return frames;
  }

  private next(): Frame | undefined {
    if (this.held < HEADER_BYTES) return undefined;
    const header = this.peek(HEADER_BYTES);
    const optionsLength = header.readUInt32BE(4);
    const bodyLength = header.readUInt32BE(8);
    if (optionsLength > MAX_OPTIONS_BYTES || bodyLength > MAX_BODY_BYTES) throw new RpcFault('the message is too long');
    const length = HEADER_BYTES + optionsLength + bodyLength;
    if (this.held < length) return undefined;
    const whole = this.peek(length);
    this.drop(length);
    return { number: whole.readUInt32BE(0), body: whole.subarray(HEADER_BYTES + optionsLength, length) };
  }

  /** Returns a chunk with at least `length` bytes, joining chunks if necessary. */
  private peek(length: number): Buffer {
    const [first] = this.parts;
    if (first !== undefined && first.length >= length) return first;
    const whole = Buffer.concat(this.parts);
    this.parts = [whole];
    return whole;
  }

  private drop(length: number): void {
    const [first, ...rest] = this.parts;
    if (first === undefined) return;
    this.held -= length;
    this.parts = first.length === length ? rest : [first.subarray(length), ...rest];
  }
}

/** @throws RpcFault if the body does not start with a call number and a signature */
export function questionOf(body: Buffer): Question {
  if (body.length < 8) throw new RpcFault('the message is truncated');
  const length = body.readUInt32BE(4);
  if (length > MAX_SIGNATURE_BYTES || body.length < 8 + length) throw new RpcFault('the signature is truncated');
  return {
    call: body.readUInt32BE(0),
    signature: body.toString('latin1', 8, 8 + length),
    args: body.subarray(8 + length),
  };
}

/** Encodes the response to message `number`. */
export function answerFrame(number: number, call: number, signature: string, values: Buffer): Buffer {
  const head = Buffer.alloc(HEADER_BYTES + 8);
  head.writeUInt32BE(number, 0);
  head.writeUInt32BE(8 + signature.length + values.length, 8);
  head.writeUInt32BE(call, 12);
  head.writeUInt32BE(signature.length, 16);
  return Buffer.concat([head, Buffer.from(signature, 'latin1'), values]);
}
