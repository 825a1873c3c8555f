import type { Socket } from 'node:net';
import { CALLS } from './calls.js';
import { CKR } from '../../../formats/pkcs11/cryptoki.js';
import { answerFrame, type Frame, FrameReader, questionOf } from './frames.js';
import { Token, type TokenSource } from './token.js';
import { CryptokiFault, type ReturnValue, RpcFault, RpcReader, RpcWriter } from './rpc-message.js';

/** The newest version of p11-kit's protocol that is spoken here. */
const VERSION = 2;
/** Answers that a program has not read: one that sends and never reads is cut off. */
const MAX_UNREAD_BYTES = 8 << 20;
/** Number of the answer that says that a call failed. */
const ERROR_CALL = 0;

/** Serves one connection: one program and loaded module, as long as it lives. */
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
      // Where one message ends and the next begins is unknown from here on.
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

/** The answer to one message; it never throws. */
async function answer(token: Token, { number, body }: Frame, { note }: TokenSource): Promise<Buffer> {
  try {
    const { call, signature, args } = questionOf(body);
    const known = CALLS.get(call);
    if (known === undefined) throw new CryptokiFault(CKR.FUNCTION_NOT_SUPPORTED);
    if (known.request !== signature) throw new RpcFault('the arguments are of other types');
    const values = await known.answer(token, new RpcReader(args));
    return answerFrame(number, call, known.response, values.bytes());
  } catch (error) {
    if (error instanceof CryptokiFault && error.reason !== undefined) note(`sealwright: not signed: ${error.reason}`);
    return answerFrame(number, ERROR_CALL, 'u', new RpcWriter().ulong(codeOf(error)).bytes());
  }
}

/** What is no fault of the caller is a fault of the device. */
function codeOf(error: unknown): ReturnValue {
  return error instanceof CryptokiFault ? error.code : CKR.DEVICE_ERROR;
}
