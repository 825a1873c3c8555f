import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.js';

export interface ThreadOrder {
  /** The compiled file that runs; it gets `input` as workerData and posts one message, its result. */
  readonly file: URL;
  readonly name: string;
  /** Id of the caller it runs for. Callers are served in turn. */
  readonly caller: string;
  /** Structured-cloned into the thread. */
  readonly input: unknown;
  /** Time from the start of a thread after which it is ended, whatever it does. */
  readonly deadlineMs: number;
  /** Heap that it may use. */
  readonly heapMb: number;
  /** Ends the thread when nobody waits for its result any more. */
  readonly signal?: AbortSignal;
}

/** Why a thread gave no result. */
export class ThreadEnded extends Error {
  constructor(readonly why: 'deadline' | 'cancelled' | 'memory' | 'failed') {
    super(`the thread ended: ${why}`);
  }
}

/** Runs work that could occupy a thread for long, a few at a time, each for a limited time. */
export class BoundedThreads {
  private running = 0;
  private readonly waiting = new FairQueue<() => void>();

  /** @param max threads at once; others wait. */
  constructor(private readonly max: number) {}

  /** Answers the message of the thread. Throws ThreadEnded. */
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
