import { Injectable } from '@nestjs/common';
import { errorCodes, type FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { detachBuffer } from '../../observability/external-memory.js';

const { FST_ERR_CTP_BODY_TOO_LARGE: TooLarge, FST_ERR_CTP_INVALID_CONTENT_LENGTH: WrongLength } = errorCodes;

/** Pace is the minimum rate at which a body must arrive. */
export interface Pace {
  /** Initial time during which any rate is accepted. */
  readonly graceMs: number;
  /** Minimum average rate afterwards. */
  readonly bytesPerSecond: number;
}

/** About 2 Mbit/s: the largest body takes 17 minutes. */
export const PACE: Pace = { graceMs: 20_000, bytesPerSecond: 256 * 1024 };
const LOOK_AGAIN_MS = 1000;

/** ArrivingBodies reads request bodies. Slow bodies do not delay a shutdown. */
@Injectable()
export class ArrivingBodies {
  private readonly refusals = new Set<() => void>();
  private pace = PACE;

  /** Sets the pace for bodies that begin to arrive after this call. */
  allow(pace: Pace): void {
    this.pace = pace;
  }

  /** Rejects all bodies that are still arriving. */
  refuse(): void {
    for (const refusal of this.refusals) refusal();
  }

  /**
   * Reads a body up to the limit of its route. If the length of the body is declared, memory is allocated in advance and bytes are copied as they arrive,
   * because concatenating a hundred megabytes at the end would block the event loop.
   *
   * @throws 413 if the body exceeds the limit, 400 if the length differs from the declared length, 408 if the body arrives too slowly
   */
  read(request: FastifyRequest, body: IncomingMessage): Promise<Buffer> {
    const { bodyLimit } = request.routeOptions;
    const declared = request.headers['content-length'];
    const length = declared === undefined ? undefined : Number(declared);
    if (length !== undefined && length > bodyLimit) return Promise.reject(new TooLarge());
    const bytes = length === undefined ? new BodyOfUnknownLength() : new BodyOfKnownLength(length);
    return new Promise((resolve, reject) => {
      const end = (outcome: () => void) => {
        clearTimeout(timer);
        this.refusals.delete(refusal);
        body.off('data', onData).off('end', onEnd).off('error', onError);
        outcome();
      };
      const refusal = () => end(() => reject(new TooSlow()));
      const due = dueBytes(this.pace);
      const look = () => {
        if (bytes.length < due()) refusal();
        else timer = setTimeout(look, LOOK_AGAIN_MS);
      };
      let timer = setTimeout(look, this.pace.graceMs);
      const onData = (chunk: Buffer) => {
        bytes.add(chunk);
        if (bytes.length > bodyLimit) end(() => reject(new TooLarge()));
      };
      const onEnd = () => {
        const isWhole = length === undefined || bytes.length === length;
        end(() => (isWhole ? resolve(bytes.whole()) : reject(new WrongLength())));
      };
      const onError = (error: Error) => end(() => reject(Object.assign(error, { statusCode: 400 })));
      this.refusals.add(refusal);
      body.on('data', onData).on('end', onEnd).on('error', onError);
    });
  }
}

/** dueBytes returns a function that returns the number of bytes that must have arrived by now. */
export function dueBytes({ graceMs, bytesPerSecond }: Pace): () => number {
  const graceEnds = performance.now() + graceMs;
  return () => ((performance.now() - graceEnds) / 1000) * bytesPerSecond;
}

class TooSlow extends Error {
  readonly statusCode = 408;
}

class BodyOfKnownLength {
  length = 0;
  private readonly bytes: Buffer;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  add(chunk: Buffer): void {
    chunk.copy(this.bytes, this.length);
    this.length += chunk.length;
    detachBuffer(chunk);
  }

  /** Returns the body. Call only after all bytes have arrived: the buffer is allocated uninitialized and could otherwise disclose memory. */
  whole(): Buffer {
    return this.bytes;
  }
}

class BodyOfUnknownLength {
  length = 0;
  private readonly chunks: Buffer[] = [];

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
  }

  whole(): Buffer {
    const whole = Buffer.concat(this.chunks, this.length);
    for (const chunk of this.chunks.splice(0)) detachBuffer(chunk);
    return whole;
  }
}
