import { InjectQueue, OnQueueError, Process, Processor } from '@nestjs/bull';
import { type BeforeApplicationShutdown, Logger } from '@nestjs/common';
import type { Job, Queue } from 'bull';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueueTrouble } from '../../platform/queue/queue-trouble.js';
import { SigningExecutor } from './signing-executor.js';
import { type SigningBell, SIGNING_QUEUE } from './signing.queue.js';

/** What is not finished by then is left to its lease. */
const DRAIN_MS = 10_000;

/** Hears the doorbell. */
@Processor(SIGNING_QUEUE)
export class SigningProcessor implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SigningProcessor.name);
  private readonly trouble = new QueueTrouble(SigningProcessor.name);

  constructor(
    private readonly executor: SigningExecutor,
    @InjectQueue(SIGNING_QUEUE) private readonly queue: Queue<SigningBell>,
  ) {}

  /** Hears no further bell and finishes what it began, while database and HSM are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    const finished = this.queue.pause(true).catch(() => undefined);
    await Promise.race([finished, sleep(DRAIN_MS, undefined, { ref: false })]);
  }

  @Process({ concurrency: 4 })
  async answer({ data }: Job<SigningBell>): Promise<void> {
    // What fails here is found again by the sweep, so the job itself never needs a second run.
    await this.executor
      .process(data.requestIds)
      .catch((error: unknown) => this.logger.warn(`a bell was not answered: ${String(error)}`));
  }

  @OnQueueError()
  complain(error: Error): void {
    this.trouble.hear(error);
  }
}
