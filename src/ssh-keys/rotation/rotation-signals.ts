import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { Outbox } from '../../platform/outbox/outbox.js';
import { JOB_SIGNAL_OPTIONS, QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { ROTATION_QUEUE } from './model/rotation.entity.js';
import { RotationRunner } from './rotation-flow.js';

/** Signals that targets are due. Which targets are due is read from the rows. */
interface RotationSignal {
  readonly targetIds: string[];
}

/** RotationRelay passes committed signals from the outbox to the queue. */
@Injectable()
export class RotationRelay {
  constructor(@InjectQueue(ROTATION_QUEUE) queue: Queue<RotationSignal>, outbox: Outbox) {
    outbox.serve(ROTATION_QUEUE, async (targetIds) => {
      await queue.add({ targetIds }, JOB_SIGNAL_OPTIONS);
    });
  }
}

/** RotationProcessor makes the runner claim targets whenever a signal arrives. */
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
