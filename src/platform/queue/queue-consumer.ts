import { type BeforeApplicationShutdown, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Job, Queue, JobOptions } from 'bull';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';

/** Share of the time of a stop that work may take. What is not finished by then is left to its lease. */
const SHARE_OF_STOP = 0.75;
/** Connections to Redis are the last that a process has to do with: it ends without that, too. */
const CLOSE_WITHIN_MS = 2000;

/**
 * Consumes the signals of a queue. What is due is read from rows; a signal only says that it is worth a look.
 *
 * The queue is asked here and not by `@Process`, which hears nothing of what becomes of it: a promise of Bull that is refused, because
 * the connection is closed before Redis has answered, would end the process with the work that it meant to finish.
 */
export abstract class QueueConsumer<Signal> implements OnModuleInit, OnModuleDestroy, BeforeApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private lastTrouble = '';
  private finished: Promise<unknown> | undefined;

  /** @param atOnce how many signals are answered at a time. */
  protected constructor(
    private readonly queue: Queue<Signal>,
    private readonly config: Config,
    private readonly atOnce = 1,
  ) {}

  protected abstract answer(signal: Signal): Promise<void>;

  /** Takes nothing on any more; resolves when what is in hand has ended. */
  protected abstract finish(): Promise<void>;

  onModuleInit(): void {
    this.queue.on('error', (error) => this.complain(error));
    Object.assign(this.queue, {
      // Bull names its connections and leaves that promise to itself. Nobody looks for the names.
      setWorkerName: () => Promise.resolve(),
      // What `@nestjs/bull` has here waits for Bull, however long.
      onApplicationShutdown: () => Promise.race([this.queue.close(), sleep(CLOSE_WITHIN_MS)]),
    });
    this.queue
      .process(this.atOnce, ({ data }: Job<Signal>) => this.answer(data))
      .catch((error: unknown) => {
        // Without signals, what is due is found by looking for it.
        if (this.finished === undefined) this.logger.error(`signals are no longer received: ${String(error)}`);
      });
  }

  /**
   * The first moment of a stop: every queue falls silent in it, and their work ends side by side. Nobody waits for Redis,
   * which may be what is wrong.
   */
  onModuleDestroy(): void {
    void this.queue.pause(true, true).catch(() => undefined);
    const ms = this.config.stopSeconds * 1000 * SHARE_OF_STOP;
    this.finished = Promise.race([this.finish(), sleep(ms, undefined, { ref: false })]);
  }

  /** While database and HSM are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.finished;
  }

  /** Says what is wrong with the queue once: while Redis is away, every attempt to reconnect fails in the same words. */
  private complain(error: Error | undefined): void {
    const message = error?.message ?? 'its connection is closed'; // Bull reports some ends without an error
    if (message === this.lastTrouble) return;
    this.lastTrouble = message;
    this.logger.warn(`the queue has trouble: ${message}`);
  }
}

/**
 * Options of a signal in a queue. The rows own attempts and retries, so Bull makes one attempt and keeps nothing.
 * No Bull time-out either: it fails the job while the handler runs on.
 */
export const JOB_SIGNAL_OPTIONS: JobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };
