import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { Config } from '../../../platform/config/config.js';
import { Problem, type ProblemKind } from '../../../platform/errors/problem.js';
import { InstanceHeartbeat } from '../../../platform/instances/heartbeat.js';
import { MAX_ROUNDS } from '../../../formats/pkcs/password-encryption.js';
import type { IngestMessage, IngestOrder, IngestReply, OnProgress } from '../staging/ingest-order.js';
import type { IngestOutcome } from '../../model/document.js';
import { RateLimits } from '../../../platform/http/rate-limits.js';
import { FairQueue } from '../../../platform/database/fair-queue.js';
import { tooCostly } from './ingest-faults.js';
import { StallWatch } from './stall-watch.js';

/**
 * THREADS is the number of threads in the service. One thread reads a document while the other waits for the database. Three threads were slower than two,
 * because each thread has a separate heap.
 */
const THREADS = 2;
/** THREADS_OF_WORKER is the number of threads in a worker process, where no client waits for a response and memory use should be low. */
const THREADS_OF_WORKER = 1;

/**
 * IngestThreads ingests documents off the event loop. Threads with their own database connection parse, validate, classify and store documents, so
 * that even large documents do not delay other requests.
 */
@Injectable()
export class IngestThreads implements OnApplicationShutdown {
  private readonly waiting = new FairQueue<Job>();
  private readonly threads: readonly IngestThread[];
  private last = 0;

  constructor(
    private readonly config: Config,
    heartbeat: InstanceHeartbeat,
    private readonly rates: RateLimits,
  ) {
    const mergeLock = randomUUID();
    const count = config.role === 'worker' ? THREADS_OF_WORKER : THREADS;
    const work: IngestWork = {
      next: (isReserve) => this.waiting.shift((owner) => !isReserve || !this.isReadingFor(owner)),
      clear: () => this.waiting.clear(),
      messageOf: (job) => this.messageOf(job, heartbeat),
      spent: ({ order }, rounds) => this.rates.spend(DERIVATIONS, order.caller.id, rounds),
      retryAfter: (kind) => (kind === 'overloaded' ? this.rates.secondsLeft : kind === 'unavailable' ? 2 : undefined),
    };
    this.threads = Array.from({ length: count + 1 }, (_, i) => new IngestThread(mergeLock, work, i === count));
  }

  /**
   * Ingests a document in the next free thread. Owners are served in turn: apart from running documents, a document waits for at most one document of each
   * other owner. One additional thread is reserved for owners without a running document, because a large document takes minutes. The number of waiting
   * documents is limited where bodies are received. @throws Problem if the document is rejected
   */
  take(order: IngestOrder, onProgress: OnProgress = () => undefined): Promise<IngestOutcome> {
    const stallMs = (this.config.ingestStallSeconds + order.bytes.byteLength / MB) * 1000;
    return new Promise<IngestOutcome>((resolve, reject) => {
      this.waiting.push(order.caller.ownerId, {
        number: (this.last += 1),
        order,
        stallMs,
        onProgress,
        resolve,
        reject,
      });
      const free = this.threads.filter(({ isFree }) => isFree);
      const usual = free.filter(({ isReserve }) => !isReserve);
      (usual.find(({ isWarm }) => isWarm) ?? usual[0] ?? free[0])?.startNext();
    });
  }

  private isReadingFor(owner: string): boolean {
    return this.threads.some((thread) => thread.owner === owner);
  }

  private messageOf({ number: job, order }: Job, { confirmedUntil }: InstanceHeartbeat): IngestMessage {
    const left = this.rates.left(DERIVATIONS, order.caller.id, this.config.derivationRoundsPerMinute);
    return { job, order, confirmedUntil, derivations: Math.min(left, MAX_ROUNDS) };
  }

  /** Finishes the accepted documents, within the time that is available for a shutdown. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.stop()));
  }
}

/** Name of the limit in RateLimits. */
const DERIVATIONS = 'derivations';
const STOP_MS = 10_000;
/** IDLE_MS is the idle time after which a thread ends, so that the memory of its heap becomes available. */
const IDLE_MS = 30_000;
/** START_MS is the time limit for a new thread to load its modules. The loading time does not count against the document. */
const START_MS = 120_000;
/** LARGE_BYTES is the minimum size of a large document. Senders of large documents usually send several. */
const LARGE_BYTES = 4 * 1024 * 1024;
const MB = 1024 * 1024;
/**
 * OLD_SPACE_FOR_LARGE_MB is the heap size at which V8 first collects the old generation in a thread for large documents. By default, V8 collects at a few
 * megabytes, and again whenever the heap has doubled. A document's data remains in use until the document is written, so a late first collection saves a sixth
 * of the CPU time. Small documents would fill this space with garbage.
 */
const OLD_SPACE_FOR_LARGE_MB = 512;

interface Job {
  readonly number: number;
  readonly order: IngestOrder;
  /** Maximum time between two heartbeats of the thread, in milliseconds. */
  readonly stallMs: number;
  onProgress: OnProgress;
  resolve(outcome: IngestOutcome): void;
  reject(error: Error): void;
}

/** State shared by the threads of a process. */
interface IngestWork {
  /** Removes and returns the next document in the queue. With `isReserve`, skips owners for whom a thread is reading a document. */
  next(isReserve: boolean): Job | undefined;
  /** Removes and returns all documents in the queue. */
  clear(): Job[];
  messageOf(job: Job): IngestMessage;
  /** Charges key derivation rounds to the caller who sent a document. */
  spent(job: Job, rounds: number): void;
  /** Returns the number of seconds after which a rejected document may be sent again, or undefined if it must not be sent again. */
  retryAfter(kind: ProblemKind): number | undefined;
}

/** IngestThread ingests one document after another until the queue is empty. */
class IngestThread {
  private readonly logger = new Logger(IngestThreads.name);
  private readonly watch = new StallWatch(() => this.endThread());
  private running: Job | undefined;
  /** Number of key derivation rounds that may be spent on the running document. */
  private allowance = 0;
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private stopping = false;
  /** Reason that the thread was terminated, if the document caused the termination. */
  private verdict: string | undefined;

  /**
   * @param mergeLock name of the lock that serializes the merges of all threads of a process
   * @param isReserve whether the thread is reserved for owners for whom no other thread is reading a document
   */
  constructor(
    private readonly mergeLock: string,
    private readonly work: IngestWork,
    readonly isReserve: boolean,
  ) {}

  /** ID of the owner whose document is being read; undefined if no document is being read. */
  get owner(): string | undefined {
    return this.running?.order.caller.ownerId;
  }

  get isFree(): boolean {
    return this.running === undefined;
  }

  /** Whether the thread has been started and has not ended. */
  get isWarm(): boolean {
    return this.worker !== undefined;
  }

  /** Resolves when all documents are finished or STOP_MS has elapsed. */
  async stop(): Promise<void> {
    this.stopping = true;
    const { worker } = this;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    if (this.isFree) this.retire();
    const timer = setTimeout(() => this.giveUp(worker), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Rejects the waiting documents and ends the thread. */
  private giveUp(worker: Worker): void {
    for (const job of this.work.clear()) job.reject(new Error('the thread ended'));
    void worker.terminate();
  }

  /** Starts the next waiting document, unless one is running. */
  startNext(): void {
    if (this.running !== undefined) return;
    const job = this.work.next(this.isReserve);
    if (job === undefined) return this.rest();
    clearTimeout(this.idle);
    const isNew = this.worker === undefined;
    this.worker ??= this.start(job.order.bytes.byteLength >= LARGE_BYTES);
    this.running = job;
    this.watch.begin(job.stallMs, isNew ? START_MS : 0);
    const message = this.work.messageOf(job);
    this.allowance = message.derivations;
    this.worker.postMessage(message, [job.order.bytes]);
  }

  private rest(): void {
    clearTimeout(this.idle);
    if (this.stopping) this.retire();
    else this.idle = setTimeout(() => this.retire(), IDLE_MS).unref();
  }

  private start(isForLarge: boolean): Worker {
    setInitialOldSpace(isForLarge ? OLD_SPACE_FOR_LARGE_MB : 0);
    const worker = new Worker(new URL('./ingest-thread.js', import.meta.url), {
      name: 'inventory-ingest',
      workerData: this.mergeLock,
      // Items become garbage before the next items are read. A larger young generation would only exceed the CPU cache.
      resourceLimits: { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: 4096 },
    });
    worker.once('online', () => setInitialOldSpace(0));
    worker.on('message', (reply: IngestReply) => {
      this.watch.alive();
      this.settle(reply);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.verdict ??= 'needed more memory than one document may use';
      this.logger.error(`an ingest thread ended: ${error.name}`);
    });
    worker.on('exit', () => this.exited(worker));
    worker.unref();
    return worker;
  }

  /** Ends the thread when it is idle. The next document gets a new thread. */
  private retire(): void {
    const { worker } = this;
    this.worker = undefined;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker?.postMessage('stop');
  }

  /** Terminates the thread while it reads a document, because other documents are waiting. */
  private endThread(): void {
    this.verdict ??= 'took too long to parse';
    this.logger.warn(`a document ${this.verdict} and was rejected`);
    void this.worker?.terminate();
  }

  private exited(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    const { running, verdict } = this;
    this.verdict = undefined;
    if (running === undefined) return;
    // The actual cost of the document is unknown, because its thread was terminated.
    this.work.spent(running, this.allowance);
    this.end(() => running.reject(verdict === undefined ? new Error('the thread ended') : tooCostly(verdict)));
  }

  private settle({ job: number, progress, derivations = 0, outcome, problem, failure }: IngestReply): void {
    const job = this.running;
    if (job === undefined || job.number !== number) return;
    if (progress !== undefined) return job.onProgress(progress);
    if (derivations > 0) this.work.spent(job, derivations);
    this.end(() => {
      if (outcome !== undefined) job.resolve(outcome);
      else if (problem !== undefined) {
        const { kind, code, message, errors } = problem;
        job.reject(new Problem(kind, code, message, { errors, retryAfter: this.work.retryAfter(kind) }));
      } else job.reject(new Error(`a document was not imported: ${failure ?? ''}`));
    });
  }

  private end(settle: () => void): void {
    this.watch.end();
    this.running = undefined;
    settle();
    this.startNext();
  }
}

/** Sets the initial size of the old generation for new threads. @param size megabytes, or 0 for V8's default */
function setInitialOldSpace(size: number): void {
  setFlagsFromString(`--initial-old-space-size=${size}`);
}
