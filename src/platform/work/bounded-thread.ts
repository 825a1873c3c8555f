import { Worker } from 'node:worker_threads';
import { FairQueue } from '../database/fair-queue.js';

export interface ThreadOrder {
  /** URL of the compiled file to run. The file receives `input` as workerData and posts one message with its result. */
  readonly file: URL;
  readonly name: string;
  /** ID of the caller for whom the thread runs. Callers are served in turn. */
  readonly caller: string;
  /** Input of the thread, passed by structured clone. */
  readonly input: unknown;
  /** Maximum run time, after which the thread is terminated. */
  readonly deadlineMs: number;
  /** Maximum heap size. */
  readonly heapMb: number;
  /** Terminates the thread when its result is no longer needed. */
  readonly signal?: AbortSignal;
}

/** ThreadEnded means that a thread ended without a result. */
export class ThreadEnded extends Error {
  constructor(readonly why: 'deadline' | 'cancelled' | 'memory' | 'failed') {
    super(`the thread ended: ${why}`);
  }
}

/** BoundedThreads runs long computations in threads, with limits on concurrency and run time. */
export class BoundedThreads {
  private running = 0;
  private readonly waiting = new FairQueue<() => void>();

  /** @param max maximum number of concurrent threads; further calls wait */
  constructor(private readonly max: number) {}

  /** Returns the message of the thread. Throws ThreadEnded. */
  async run<Result>(order: ThreadOrder): Promise<Result> {
    if (this.running >= this.max) await new Promise<void>((resolve) => this.waiting.push(order.caller, resolve));
    else this.running += 1;
    try {
      return await resultOf<Result>(order);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}

function resultOf<Result>({ file, name, input, deadlineMs, heapMb, signal }: ThreadOrder): Promise<Result> {
  if (signal?.aborted === true) return Promise.reject(new ThreadEnded('cancelled'));
  return new Promise<Result>((resolve, reject) => {
    const worker = new Worker(file, {
      name,
      workerData: input,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    const end = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancelled);
      void worker.terminate();
      settle();
    };
    const cancelled = () => end(() => reject(new ThreadEnded('cancelled')));
    const timer = setTimeout(() => end(() => reject(new ThreadEnded('deadline'))), deadlineMs);
    signal?.addEventListener('abort', cancelled);
    worker.once('message', (message: Result) => end(() => resolve(message)));
    worker.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'failed';
      end(() => reject(new ThreadEnded(why)));
    });
    worker.once('exit', () => end(() => reject(new ThreadEnded('failed'))));
  });
}
