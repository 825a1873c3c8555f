import { errorCodes, type FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';

const { FST_ERR_CTP_BODY_TOO_LARGE: TooLarge, FST_ERR_CTP_INVALID_CONTENT_LENGTH: WrongLength } = errorCodes;

/**
 * Reads a body up to the limit of its route. One that tells its length has its place before it comes, and each byte is copied there when
 * it does: to put a hundred megabytes together at the end would keep everybody else waiting.
 *
 * @throws 413 for more than the limit, 400 for another length than the one that was told.
 */
export function bodyBytes(request: FastifyRequest, body: IncomingMessage): Promise<Buffer> {
  const { bodyLimit } = request.routeOptions;
  const told = request.headers['content-length'];
  const length = told === undefined ? undefined : Number(told);
  if (length !== undefined && length > bodyLimit) return Promise.reject(new TooLarge());
  const bytes = length === undefined ? new UntoldBody() : new ToldBody(length);
  return new Promise((resolve, reject) => {
    const stop = () => body.off('data', onData).off('end', onEnd).off('error', onError);
    const onData = (chunk: Buffer) => {
      bytes.add(chunk);
      if (bytes.length <= bodyLimit) return;
      stop();
      reject(new TooLarge());
    };
    const onEnd = () => {
      stop();
      if (length === undefined || bytes.length === length) resolve(bytes.whole());
      else reject(new WrongLength());
    };
    const onError = (error: Error) => {
      stop();
      reject(Object.assign(error, { statusCode: 400 }));
    };
    body.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

class ToldBody {
  length = 0;
  private readonly bytes: Buffer;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  add(chunk: Buffer): void {
    chunk.copy(this.bytes, this.length);
    this.length += chunk.length;
  }

  /** Asked for when all of it is there: what stood in its memory before is not told. */
  whole(): Buffer {
    return this.bytes;
  }
}

class UntoldBody {
  length = 0;
  private readonly chunks: Buffer[] = [];

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
  }

  whole(): Buffer {
    return Buffer.concat(this.chunks, this.length);
  }
}
