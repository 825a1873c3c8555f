import { Logger } from '@nestjs/common';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { Problem } from '../../platform/errors/problem.js';
import type { IngestOrder, IngestProgress, IngestReply } from './ingest-order.js';
import type { IngestOutcome } from '../model/ingest-outcome.js';
import { StallWatch } from './stall-watch.js';

const STOP_MS = 10_000;
/** Then it ends: a heap with all that reads documents is memory that others can use. */
const IDLE_MS = 30_000;
/** Until a thread has loaded what it needs, which is no fault of a document. */
const START_MS = 120_000;
/** Bytes. Who sends so many at once has more of them. */
const LARGE = 4 * 1024 * 1024;
const MB = 1024 * 1024;
/**
 * V8 looks which of a thread's objects are still in use when there are a few megabytes of them, and again whenever they have doubled. What is kept of a
 * document is in use until it is written: to look for the first time at this size takes a sixth of the CPU off. Small documents would fill it with what
 * nobody uses any more.
 */
const ROOM_FOR_LARGE_MB = 512;

interface Job {
  readonly number: number;
  readonly order: IngestOrder;
  /** For how long it may keep the thread from giving a sign of life. */
  readonly stallMs: number;
  progress(now: IngestProgress): void;
  resolve(outcome: IngestOutcome): void;
  reject(error: Error): void;
}

/** A thread that takes one document after the other. It is there while there are any. */
export class IngestWorker {
  private readonly logger = new Logger(IngestWorker.name);
  private readonly waiting: Job[] = [];
  private readonly watch = new StallWatch(() => this.endThread());
  private running: Job | undefined;
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private next = 0;
  private stopping = false;
  /** Why the thread was ended, when it was for its document. */
  private verdict: string | undefined;

  /**
   * @param turn names what the lanes of a process take in turn: to bring a document together with what is known.
   * @param stallSeconds for which reading a document may keep the thread busy without a pause; each MB of it gives one more.
   */
  constructor(
    private readonly turn: string,
    private readonly stallSeconds: number,
  ) {}

  /** Documents that it has. */
  get length(): number {
    return this.waiting.length + (this.running === undefined ? 0 : 1);
  }

  /** @throws Problem what the document was refused for, `document.too-costly` among it. */
  take(order: IngestOrder, progress: (now: IngestProgress) => void): Promise<IngestOutcome> {
    const stallMs = (this.stallSeconds + order.bytes.byteLength / MB) * 1000;
    return new Promise<IngestOutcome>((resolve, reject) => {
      this.waiting.push({ number: (this.next += 1), order, stallMs, progress, resolve, reject });
      this.startNext();
    });
  }

  /** Resolves when what it has is finished, or the time for that is over. */
  async stop(): Promise<void> {
    this.stopping = true;
    const { worker } = this;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    if (this.length === 0) this.retire();
    const timer = setTimeout(() => this.giveUp(worker), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Those that wait would begin in the time that others need to stop. */
  private giveUp(worker: Worker): void {
    for (const job of this.waiting.splice(0)) job.reject(new Error('the thread ended'));
    void worker.terminate();
  }

  private startNext(): void {
    if (this.running !== undefined) return;
    const job = this.waiting.shift();
    if (job === undefined) return this.rest();
    clearTimeout(this.idle);
    const isNew = this.worker === undefined;
    this.worker ??= this.start(job.order.bytes.byteLength >= LARGE);
    this.running = job;
    this.watch.begin(job.stallMs, isNew ? START_MS : 0);
    this.worker.postMessage({ job: job.number, order: job.order }, [job.order.bytes]);
  }

  private rest(): void {
    if (this.stopping) this.retire();
    else this.idle = setTimeout(() => this.retire(), IDLE_MS).unref();
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
    worker.on('message', (reply: IngestReply) => {
      this.watch.alive();
      this.hear(reply);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.verdict ??= 'took more memory than one document may';
      this.logger.error(`a thread that takes documents in ended: ${error.name}`);
    });
    worker.on('exit', () => this.gone(worker));
    worker.unref();
    return worker;
  }

  /** Lets the thread end; whatever comes next gets another one. */
  private retire(): void {
    const { worker } = this;
    this.worker = undefined;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker?.postMessage('stop');
  }

  /** The document that it is at holds up those that wait. */
  private endThread(): void {
    this.verdict ??= 'kept its reader busy for too long';
    this.logger.warn(`a document ${this.verdict}: it is refused`);
    void this.worker?.terminate();
  }

  private gone(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    const { running, verdict } = this;
    this.verdict = undefined;
    if (running !== undefined)
      this.end(() => running.reject(verdict === undefined ? new Error('the thread ended') : tooCostly(verdict)));
  }

  private hear({ job: number, progress, outcome, problem, failure }: IngestReply): void {
    const job = this.running;
    if (job === undefined || job.number !== number) return;
    if (progress !== undefined) return job.progress(progress);
    this.end(() => {
      if (outcome !== undefined) job.resolve(outcome);
      else if (problem !== undefined) {
        const { kind, code, message, errors } = problem;
        job.reject(new Problem(kind, code, message, { errors, ...(kind === 'unavailable' ? { retryAfter: 2 } : {}) }));
      } else job.reject(new Error(`a document was not taken in: ${failure ?? ''}`));
    });
  }

  private end(settle: () => void): void {
    this.watch.end();
    this.running = undefined;
    settle();
    this.startNext();
  }
}

function tooCostly(verdict: string): Problem {
  const detail = `${verdict}; send it in parts, or without what is large in it`;
  return new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
    errors: [{ pointer: '', detail }],
  });
}

/** Of threads that start from now on; megabytes, or 0 for what V8 begins with. */
function setInitialOldSpace(size: number): void {
  setFlagsFromString(`--initial-old-space-size=${size}`);
}
