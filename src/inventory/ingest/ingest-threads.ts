import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Config } from '../../platform/config/config.js';
import { exclusiveBufferOf } from '../../platform/memory/detach-buffer.js';
import { IngestWorker } from './ingest-worker.js';
import type { IngestOrder, IngestProgress } from './ingest-order.js';
import type { IngestOutcome } from '../model/ingest-outcome.js';

/** One reads while the database works for the other. Three came in slower than two: each has a heap to fill. */
const LANES = 2;
/** Nobody waits for what a worker finds, and it is to stay small. */
const LANES_OF_WORKER = 1;

/**
 * Takes documents in off the event loop: parsing, checking, judging and writing happen in threads with a connection of their own,
 * so that a document of any size delays nobody.
 */
@Injectable()
export class IngestThreads implements OnApplicationShutdown {
  private readonly lanes: readonly IngestWorker[];

  constructor({ role, ingestStallSeconds }: Config) {
    const turn = randomUUID();
    const count = role === 'worker' ? LANES_OF_WORKER : LANES;
    this.lanes = Array.from({ length: count }, () => new IngestWorker(turn, ingestStallSeconds));
  }

  /** How much may wait is decided where bodies come in. @throws Problem what the document was refused for. */
  take(order: IngestOrder, progress: (now: IngestProgress) => void = () => undefined): Promise<IngestOutcome> {
    const worker = this.lanes.reduce((least, other) => (other.length < least.length ? other : least));
    return worker.take(order, progress);
  }

  /** What was accepted is finished within the time that a stop has. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.lanes.map((worker) => worker.stop()));
  }
}

/** Small buffers share their memory with others and must be copied; a large one has it to itself. */
export function transferable(bytes: Buffer): ArrayBuffer {
  return exclusiveBufferOf(bytes) ?? new Uint8Array(bytes).buffer;
}
