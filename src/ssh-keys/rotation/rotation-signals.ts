import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { RotationRunner } from './rotation-flow.js';
import { type RotationSignal, ROTATION_QUEUE } from './model/rotation.queue.js';

/** Hears the doorbell. Which targets are due is read from the rows. */
@Injectable()
export class RotationProcessor extends QueueConsumer<RotationSignal> {
  constructor(
    private readonly runner: RotationRunner,
    @InjectQueue(ROTATION_QUEUE) queue: Queue<RotationSignal>,
    config: Config,
  ) {
    super(queue, config);
  }

  protected override async answer(): Promise<void> {
    await this.runner.fill();
  }

  protected override finish(): Promise<void> {
    return this.runner.stop();
  }
}
