import { InjectQueue, Process, Processor } from '@nestjs/bull';
import type { Job, Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { BellProcessor } from '../../platform/queue/bell-processor.js';
import { SigningExecutor } from './signing-executor.js';
import { type SigningBell, SIGNING_QUEUE } from './signing.queue.js';

/** Hears the doorbell. */
@Processor(SIGNING_QUEUE)
export class SigningProcessor extends BellProcessor {
  private readonly inHand = new Set<Promise<void>>();
  private stopping = false;

  constructor(
    private readonly executor: SigningExecutor,
    @InjectQueue(SIGNING_QUEUE) queue: Queue<SigningBell>,
    config: Config,
  ) {
    super(queue, config);
  }

  @Process({ concurrency: 4 })
  async answer({ data }: Job<SigningBell>): Promise<void> {
    if (this.stopping) return;
    // What fails here is found again by the sweep, so the job itself never needs a second run.
    const work = this.executor
      .process(data.requestIds)
      .catch((error: unknown) => this.logger.warn(`a bell was not answered: ${String(error)}`));
    this.inHand.add(work);
    await work;
    this.inHand.delete(work);
  }

  protected override async finish(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.inHand);
  }
}
