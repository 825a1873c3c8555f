import { type BeforeApplicationShutdown, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Job, Queue } from 'bull';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';

/** Fraction of the shutdown time available to running work. The leases of unfinished work expire. */
const SHARE_OF_STOP = 0.75;
/** Maximum wait for closing connections to Redis. The process exits afterwards in any case. */
const CLOSE_WITHIN_MS = 2000;

/**
 * QueueConsumer consumes the signals of a queue. Due work is read from rows; a signal only triggers the query.
 *
 * The class registers its handler itself instead of using `@Process`, which ignores rejected promises of Bull: if the connection closes before Redis has
 * responded, the unhandled rejection would end the process together with its running work.
 */
export abstract class QueueConsumer<Signal> implements OnModuleInit, OnModuleDestroy, BeforeApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private lastTrouble = '';
  private finished: Promise<unknown> | undefined;

  /** @param atOnce number of signals handled concurrently */
  protected constructor(
    private readonly queue: Queue<Signal>,
    private readonly config: Config,
    private readonly atOnce = 1,
  ) {}

  protected abstract answer(signal: Signal): Promise<void>;

  /** Stops accepting work and resolves when running work has ended. */
  protected abstract finish(): Promise<void>;

  onModuleInit(): void {
    this.queue.on('error', (error) => this.complain(error));
    Object.assign(this.queue, {
      // Bull sets connection names and ignores the promise. The names are not needed.
      setWorkerName: () => Promise.resolve(),
      // The default of `@nestjs/bull` waits for Bull without a limit.
      onApplicationShutdown: () => Promise.race([this.queue.close(), sleep(CLOSE_WITHIN_MS)]),
    });
    this.queue
      .process(this.atOnce, ({ data }: Job<Signal>) => this.answer(data))
      .catch((error: unknown) => {
        // Without signals, due work is found by polling.
        if (this.finished === undefined) this.logger.error(`signals are no longer received: ${String(error)}`);
      });
  }

  /**
   * Pauses the queue at the beginning of a shutdown, so that the work of all queues ends in parallel. Does not wait for Redis, which may be the cause of
   * the shutdown.
   */
  onModuleDestroy(): void {
    void this.queue.pause(true, true).catch(() => undefined);
    const ms = this.config.stopSeconds * 1000 * SHARE_OF_STOP;
    this.finished = Promise.race([this.finish(), sleep(ms, undefined, { ref: false })]);
  }

  /** Waits for running work while the database and the HSM are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.finished;
  }

  /** Logs a fault of the queue once. During a Redis outage, every attempt to reconnect fails with the same message. */
  private complain(error: Error | undefined): void {
    const message = error?.message ?? 'the connection is closed'; // Bull reports some closed connections without an error
    if (message === this.lastTrouble) return;
    this.lastTrouble = message;
    this.logger.warn(`queue error: ${message}`);
  }
}
