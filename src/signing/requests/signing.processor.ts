import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { SigningExecutor } from './signing-executor.js';
import { type SigningSignal, SIGNING_QUEUE } from '../model/signing.queue.js';

const BELLS_AT_ONCE = 4;

/** Hears the doorbell. */
@Injectable()
export class SigningProcessor extends QueueConsumer<SigningSignal> {
  private readonly inHand = new Set<Promise<void>>();
  private stopping = false;

  constructor(
    private readonly executor: SigningExecutor,
    @InjectQueue(SIGNING_QUEUE) queue: Queue<SigningSignal>,
    config: Config,
  ) {
    super(queue, config, BELLS_AT_ONCE);
  }

  protected override async answer({ requestIds }: SigningSignal): Promise<void> {
    if (this.stopping) return;
    // What fails here is found again by the sweep, so the job itself never needs a second run.
    const work = this.executor
      .process(requestIds)
      .catch((error: unknown) => this.logger.warn(`a signal was not handled: ${String(error)}`));
    this.inHand.add(work);
    await work;
    this.inHand.delete(work);
  }

  protected override async finish(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.inHand);
  }
}
