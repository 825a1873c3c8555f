import type { Socket } from 'node:net';
import { CALLS } from './calls.js';
import { CKR } from '../../../formats/pkcs/cryptoki.js';
import { answerFrame, type Frame, FrameReader, questionOf } from './frames.js';
import { Token, type TokenSource } from './token.js';
import { CryptokiFault, type ReturnValue, RpcFault, RpcReader, RpcWriter } from './rpc-message.js';

/** Newest supported version of the p11-kit protocol. */
const VERSION = 2;
/** Maximum size of unread responses in bytes. A program that sends requests without reading responses is disconnected. */
const MAX_UNREAD_BYTES = 8 << 20;
/** Call number of a response that reports an error. */
const ERROR_CALL = 0;

/** Serves one connection until the connection closes. Each connection belongs to one program that has loaded the module. */
export function serveProgram(socket: Socket, source: TokenSource): void {
  const token = new Token(source);
  const frames = new FrameReader();
  let hasGreeted = false;
  const hear = (chunk: Buffer) => {
    let rest = chunk;
    if (!hasGreeted) {
      hasGreeted = true;
      socket.write(Buffer.from([Math.min(chunk.readUInt8(), VERSION)]));
      rest = chunk.subarray(1);
    }
    for (const frame of frames.push(rest)) void answer(token, frame, source).then((bytes) => say(socket, bytes));
  };
  socket.on('data', (chunk: Buffer) => {
    try {
      hear(chunk);
    } catch {
      // The start of the next message cannot be determined after an error.
      socket.destroy();
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => token.close());
}

function say(socket: Socket, bytes: Buffer): void {
  if (socket.destroyed) return;
  socket.write(bytes);
  if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
}

/** Returns the response to one message. Never throws. */
async function answer(token: Token, { number, body }: Frame, { note }: TokenSource): Promise<Buffer> {
  try {
    const { call, signature, args } = questionOf(body);
    const known = CALLS.get(call);
    if (known === undefined) throw new CryptokiFault(CKR.FUNCTION_NOT_SUPPORTED);
    if (known.request !== signature) throw new RpcFault('the arguments have unexpected types');
    const values = await known.answer(token, new RpcReader(args));
    return answerFrame(number, call, known.response, values.bytes());
  } catch (error) {
    if (error instanceof CryptokiFault && error.reason !== undefined) note(`sealwright: not signed: ${error.reason}`);
    return answerFrame(number, ERROR_CALL, 'u', new RpcWriter().ulong(codeOf(error)).bytes());
  }
}

/** Returns the code for an error. Errors that the caller did not cause are reported as device errors. */
function codeOf(error: unknown): ReturnValue {
  return error instanceof CryptokiFault ? error.code : CKR.DEVICE_ERROR;
}
