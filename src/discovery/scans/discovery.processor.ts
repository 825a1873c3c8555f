import { InjectQueue, OnQueueError, Process, Processor } from '@nestjs/bull';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import type { Queue } from 'bull';
import { QueueTrouble } from '../../platform/queue/queue-trouble.js';
import { type DiscoveryBell, DISCOVERY_QUEUE } from './discovery.queue.js';
import { ScanRunner } from './scan-runner.js';

/** Hears the doorbell. Which scans are due is read from the rows. */
@Processor(DISCOVERY_QUEUE)
export class DiscoveryProcessor implements BeforeApplicationShutdown {
  private readonly trouble = new QueueTrouble(DiscoveryProcessor.name);

  constructor(
    private readonly runner: ScanRunner,
    @InjectQueue(DISCOVERY_QUEUE) private readonly queue: Queue<DiscoveryBell>,
  ) {}

  /** What runs is put down where it is; another worker goes on from the cursor. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.queue.pause(true, true).catch(() => undefined);
    await this.runner.stop();
  }

  @Process()
  async answer(): Promise<void> {
    await this.runner.fill();
  }

  @OnQueueError()
  complain(error: Error): void {
    this.trouble.hear(error);
  }
}
