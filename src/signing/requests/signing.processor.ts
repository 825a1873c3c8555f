import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { SigningExecutor } from './signing-executor.js';
import { type SigningSignal, SIGNING_QUEUE } from '../signing-jobs.js';

const MAX_CONCURRENT_SIGNALS = 4;

/** SigningProcessor signs the requests of each job signal. */
@Injectable()
export class SigningProcessor extends QueueConsumer<SigningSignal> {
  private readonly running = new Set<Promise<void>>();
  private stopping = false;

  constructor(
    private readonly executor: SigningExecutor,
    @InjectQueue(SIGNING_QUEUE) queue: Queue<SigningSignal>,
    config: Config,
  ) {
    super(queue, config, MAX_CONCURRENT_SIGNALS);
  }

  protected override async answer({ requestIds }: SigningSignal): Promise<void> {
    if (this.stopping) return;
    // The sweep finds the requests of a failed signal, so the job itself is never retried.
    const work = this.executor
      .process(requestIds)
      .catch((error: unknown) => this.logger.warn(`could not handle a signal: ${String(error)}`));
    this.running.add(work);
    await work;
    this.running.delete(work);
  }

  protected override async finish(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running);
  }
}
