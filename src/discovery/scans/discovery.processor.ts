import { InjectQueue, Process, Processor } from '@nestjs/bull';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { BellProcessor } from '../../platform/queue/bell-processor.js';
import { type DiscoveryBell, DISCOVERY_QUEUE } from './discovery.queue.js';
import { ScanRunner } from './scan-runner.js';

/** Hears the doorbell. Which scans are due is read from the rows. */
@Processor(DISCOVERY_QUEUE)
export class DiscoveryProcessor extends BellProcessor {
  constructor(
    private readonly runner: ScanRunner,
    @InjectQueue(DISCOVERY_QUEUE) queue: Queue<DiscoveryBell>,
    config: Config,
  ) {
    super(queue, config);
  }

  @Process()
  async answer(): Promise<void> {
    await this.runner.fill();
  }

  /** What runs is put down where it is; another worker goes on from the cursor. */
  protected override finish(): Promise<void> {
    return this.runner.stop();
  }
}
