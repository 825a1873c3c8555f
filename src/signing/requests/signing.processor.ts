import { OnQueueError, Process, Processor } from '@nestjs/bull';
import { Logger } from '@nestjs/common';
import type { Job } from 'bull';
import { SigningExecutor } from './signing-executor.js';
import { type SigningBell, SIGNING_QUEUE } from './signing.queue.js';

/** Hears the doorbell. */
@Processor(SIGNING_QUEUE)
export class SigningProcessor {
  private readonly logger = new Logger(SigningProcessor.name);
  private lastComplaint = '';

  constructor(private readonly executor: SigningExecutor) {}

  @Process({ concurrency: 4 })
  async answer({ data }: Job<SigningBell>): Promise<void> {
    // What fails here is found again by the sweep, so the job itself never needs a second run.
    await this.executor
      .process(data.requestIds)
      .catch((error: unknown) => this.logger.warn(`a bell was not answered: ${String(error)}`));
  }

  /** Redis away: one line, not one per attempt to reconnect. */
  @OnQueueError()
  complain(error: Error): void {
    if (error.message === this.lastComplaint) return;
    this.lastComplaint = error.message;
    this.logger.warn(`the queue has trouble: ${error.message}`);
  }
}
