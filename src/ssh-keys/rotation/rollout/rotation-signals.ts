import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../../platform/config/config.js';
import { QueueConsumer } from '../../../platform/queue/queue-consumer.js';
import { ROTATION_QUEUE } from '../model/rotation.entity.js';
import { RotationRunner } from './rotation-flow.js';

/** RotationProcessor makes the runner claim targets when a signal arrives. The due targets are read from the database. */
@Injectable()
export class RotationProcessor extends QueueConsumer<unknown> {
  constructor(
    private readonly runner: RotationRunner,
    @InjectQueue(ROTATION_QUEUE) queue: Queue<unknown>,
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
