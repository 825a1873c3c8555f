import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Worker } from 'node:worker_threads';
import { Problem } from '../../platform/http/problem.js';
import type { IngestOrder, IngestProgress, IngestReply } from './ingest-order.js';
import type { IngestOutcome } from './ingest-outcome.js';

const STOP_MS = 10_000;
/** Then it ends: a heap with all that reads documents is memory that others can use. */
const IDLE_MS = 30_000;

interface Job {
  readonly thread: Worker;
  progress(now: IngestProgress): void;
  resolve(outcome: IngestOutcome): void;
  reject(error: Error): void;
}

/**
 * Takes documents in off the event loop: parsing, checking, judging and writing happen in a thread with a connection of its own,
 * so that a document of any size delays nobody.
 */
@Injectable()
export class IngestThreads implements OnApplicationShutdown {
  private readonly logger = new Logger(IngestThreads.name);
  private readonly jobs = new Map<number, Job>();
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private next = 0;

  /** How much may wait is decided where bodies come in. @throws Problem what the document was refused for. */
  take(order: IngestOrder, progress: (now: IngestProgress) => void = () => undefined): Promise<IngestOutcome> {
    this.worker ??= this.start();
    const thread = this.worker;
    clearTimeout(this.idle);
    const job = (this.next += 1);
    return new Promise<IngestOutcome>((resolve, reject) => {
      this.jobs.set(job, { thread, progress, resolve, reject });
      thread.postMessage({ job, order }, [order.bytes]);
    });
  }

  /** What was accepted is finished within the time that a stop has. */
  async onApplicationShutdown(): Promise<void> {
    const { worker } = this;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    this.retire();
    const timer = setTimeout(() => void worker.terminate(), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  private start(): Worker {
    const worker = new Worker(new URL('./ingest-thread.js', import.meta.url), {
      name: 'inventory-ingest',
      // Reading a document makes many short-lived objects: with room for them, collecting them costs half.
      resourceLimits: { maxYoungGenerationSizeMb: 128, maxOldGenerationSizeMb: 4096 },
    });
    worker.on('message', (reply: IngestReply) => this.settle(reply));
    worker.on('error', (error) => this.logger.error(`the thread that takes documents in ended: ${error.name}`));
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = undefined;
      for (const [job, { thread }] of this.jobs)
        if (thread === worker) this.settle({ job, failure: 'the thread ended' });
    });
    worker.unref();
    return worker;
  }

  /** Lets the thread end when it has done what it has; whatever comes next gets another one. */
  private retire(): void {
    const { worker } = this;
    this.worker = undefined;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker?.postMessage('stop');
  }

  private settle({ job: number, progress, outcome, problem, failure }: IngestReply): void {
    const job = this.jobs.get(number);
    if (job === undefined) return;
    if (progress !== undefined) return job.progress(progress);
    this.jobs.delete(number);
    if (this.jobs.size === 0) this.idle = setTimeout(() => this.retire(), IDLE_MS).unref();
    if (outcome !== undefined) job.resolve(outcome);
    else if (problem !== undefined) {
      const { kind, code, message, errors } = problem;
      job.reject(new Problem(kind, code, message, { errors, ...(kind === 'unavailable' ? { retryAfter: 2 } : {}) }));
    } else job.reject(new Error(`a document was not taken in: ${failure ?? ''}`));
  }
}

/** Small buffers share their memory with others and must be copied; a large one has it to itself. */
export function transferable(bytes: Buffer): ArrayBuffer {
  const memory = bytes.buffer;
  if (memory instanceof ArrayBuffer && bytes.byteLength === memory.byteLength) return memory;
  return new Uint8Array(bytes).buffer;
}
