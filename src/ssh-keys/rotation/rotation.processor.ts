import { InjectQueue, OnQueueError, Process, Processor } from '@nestjs/bull';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import type { Queue } from 'bull';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueueTrouble } from '../../platform/queue/queue-trouble.js';
import { RotationRunner } from './rotation-runner.js';
import { type RotationBell, ROTATION_QUEUE } from './rotation.queue.js';

/** What is not finished by then is left to its lease. */
const DRAIN_MS = 15_000;

/** Hears the doorbell. Which targets are due is read from the rows. */
@Processor(ROTATION_QUEUE)
export class RotationProcessor implements BeforeApplicationShutdown {
  private readonly trouble = new QueueTrouble(RotationProcessor.name);

  constructor(
    private readonly runner: RotationRunner,
    @InjectQueue(ROTATION_QUEUE) private readonly queue: Queue<RotationBell>,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    const finished = this.queue
      .pause(true)
      .catch(() => undefined)
      .then(() => this.runner.stop());
    await Promise.race([finished, sleep(DRAIN_MS, undefined, { ref: false })]);
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
