import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { type DiscoverySignal, DISCOVERY_QUEUE } from './discovery.queue.js';
import { ScanRunner } from './scan.worker.js';

/** Hears the doorbell. Which scans are due is read from the rows. */
@Injectable()
export class DiscoveryProcessor extends QueueConsumer<DiscoverySignal> {
  constructor(
    private readonly runner: ScanRunner,
    @InjectQueue(DISCOVERY_QUEUE) queue: Queue<DiscoverySignal>,
    config: Config,
  ) {
    super(queue, config);
  }

  protected override async answer(): Promise<void> {
    await this.runner.fill();
  }

  /** What runs is put down where it is; another worker goes on from the cursor. */
  protected override finish(): Promise<void> {
    return this.runner.stop();
  }
}
