import { Logger } from '@nestjs/common';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { Problem } from '../../platform/http/problem.js';
import type { IngestOrder, IngestProgress, IngestReply } from './ingest-order.js';
import type { IngestOutcome } from './ingest-outcome.js';

const STOP_MS = 10_000;
/** Then it ends: a heap with all that reads documents is memory that others can use. */
const IDLE_MS = 30_000;
/** Bytes. Who sends so many at once has more of them. */
const LARGE = 4 * 1024 * 1024;
/**
 * V8 looks which of a thread's objects are still in use when there are a few megabytes of them, and again whenever they have doubled. What is kept of a
 * document is in use until it is written: to look for the first time at this size takes a sixth of the CPU off. Small documents would fill it with what
 * nobody uses any more.
 */
const ROOM_FOR_LARGE_MB = 512;

interface Job {
  readonly thread: Worker;
  progress(now: IngestProgress): void;
  resolve(outcome: IngestOutcome): void;
  reject(error: Error): void;
}

/** A thread that takes one document after the other. It is there while there are any. */
export class IngestLane {
  private readonly logger = new Logger(IngestLane.name);
  private readonly jobs = new Map<number, Job>();
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private next = 0;

  /** @param turn names what the lanes of a process take in turn: to bring a document together with what is known. */
  constructor(private readonly turn: string) {}

  /** Documents that it has. */
  get length(): number {
    return this.jobs.size;
  }

  take(order: IngestOrder, progress: (now: IngestProgress) => void): Promise<IngestOutcome> {
    this.worker ??= this.start(order.bytes.byteLength >= LARGE);
    const thread = this.worker;
    clearTimeout(this.idle);
    const job = (this.next += 1);
    return new Promise<IngestOutcome>((resolve, reject) => {
      this.jobs.set(job, { thread, progress, resolve, reject });
      thread.postMessage({ job, order }, [order.bytes]);
    });
  }

  /** Resolves when what it has is finished, or the time for that is over. */
  async stop(): Promise<void> {
    const { worker } = this;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    this.retire();
    const timer = setTimeout(() => void worker.terminate(), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  private start(isForLarge: boolean): Worker {
    setInitialOldSpace(isForLarge ? ROOM_FOR_LARGE_MB : 0);
    const worker = new Worker(new URL('./ingest-thread.js', import.meta.url), {
      name: 'inventory-ingest',
      workerData: this.turn,
      // What is made of a few items is gone before the next are read: room for more of it would only be farther from the processor.
      resourceLimits: { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: 4096 },
    });
    worker.once('online', () => setInitialOldSpace(0));
    worker.on('message', (reply: IngestReply) => this.settle(reply));
    worker.on('error', (error) => this.logger.error(`a thread that takes documents in ended: ${error.name}`));
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

/** Of threads that start from now on; megabytes, or 0 for what V8 begins with. */
function setInitialOldSpace(size: number): void {
  setFlagsFromString(`--initial-old-space-size=${size}`);
}
