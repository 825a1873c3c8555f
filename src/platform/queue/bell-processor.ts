import { OnQueueError } from '@nestjs/bull';
import { type BeforeApplicationShutdown, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bull';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';

/** Of the time that a stop has. What is not finished by then is left to its lease, while the database can still be told. */
const SHARE_OF_STOP = 0.75;

/** Who hears the doorbell of a queue. What is due is read from rows; a bell only says that it is worth a look. */
export abstract class BellProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private lastTrouble = '';
  private finished: Promise<unknown> | undefined;

  protected constructor(
    private readonly queue: Queue,
    private readonly config: Config,
  ) {}

  /** Takes nothing on any more; resolves when what is in hand has ended. */
  protected abstract finish(): Promise<void>;

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
  @OnQueueError()
  complain({ message }: Error): void {
    if (message === this.lastTrouble) return;
    this.lastTrouble = message;
    this.logger.warn(`the queue has trouble: ${message}`);
  }
}
