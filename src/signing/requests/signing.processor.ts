import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { QueueConsumer, JOB_SIGNAL_OPTIONS } from '../../platform/queue/queue-consumer.js';
import { SigningExecutor } from './signing-executor.js';
import { type SigningSignal, SIGNING_QUEUE, MAX_PER_SIGNAL } from '../model/signing-jobs.js';
import { Outbox } from '../../platform/outbox/outbox.js';

const MAX_CONCURRENT_SIGNALS = 4;

/** Signs the requests of each job signal. */
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
    // The sweep finds requests of a failed signal again, so the job itself never needs a second run.
    const work = this.executor
      .process(requestIds)
      .catch((error: unknown) => this.logger.warn(`a signal was not handled: ${String(error)}`));
    this.running.add(work);
    await work;
    this.running.delete(work);
  }

  protected override async finish(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running);
  }
}

/** Sends job signals for requests that were committed. */
@Injectable()
export class SigningRelay {
  constructor(@InjectQueue(SIGNING_QUEUE) queue: Queue<SigningSignal>, outbox: Outbox) {
    outbox.serve(SIGNING_QUEUE, async (requestIds) => {
      const signals = [];
      for (let at = 0; at < requestIds.length; at += MAX_PER_SIGNAL) {
        const some = requestIds.slice(at, at + MAX_PER_SIGNAL);
        signals.push({ data: { requestIds: some }, opts: { ...JOB_SIGNAL_OPTIONS, priority: priorityOf(some) } });
      }
      await queue.addBulk(signals);
    });
  }
}

/** Requests of a signal that goes first. Larger ones come from batches; those that wait too long are found by the sweep. */
const MAX_SMALL_SIGNAL = 16;

/** Bull takes smaller numbers first, so that single requests do not wait behind the batches of others. */
function priorityOf(requestIds: readonly string[]): number {
  return requestIds.length > MAX_SMALL_SIGNAL ? 2 : 1;
}
