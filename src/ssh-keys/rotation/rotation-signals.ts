import { InjectQueue } from '@nestjs/bull';
import { Injectable, Logger } from '@nestjs/common';
import type { Queue } from 'bull';
import { Config } from '../../platform/config/config.js';
import { Outbox } from '../../platform/outbox/outbox.js';
import { JOB_SIGNAL_OPTIONS, QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { ROTATION_QUEUE } from './model/rotation.entity.js';
import { RotationRunner } from './rotation-flow.js';
import { Interval } from '@nestjs/schedule';
import { RolloutController } from './rollout/rollout-controller.js';
import { SingleFlight } from '../../platform/jobs/runners.js';

/** Signal that targets became due. Which ones are due is read from the rows. */
interface RotationSignal {
  readonly targetIds: string[];
}

/** Passes committed signals from the outbox to the queue. */
@Injectable()
export class RotationRelay {
  constructor(@InjectQueue(ROTATION_QUEUE) queue: Queue<RotationSignal>, outbox: Outbox) {
    outbox.serve(ROTATION_QUEUE, async (targetIds) => {
      await queue.add({ targetIds }, JOB_SIGNAL_OPTIONS);
    });
  }
}

/** Has the runner claim targets whenever a signal arrives. */
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

/** Finds what is due by time, whose worker died, or whose signal was never sent. */
@Injectable()
export class RotationSchedule {
  private readonly logger = new Logger(RotationSchedule.name);
  private readonly looks = new SingleFlight((error) =>
    this.logger.warn(`rotations were not looked at: ${String(error)}`),
  );

  constructor(
    private readonly runner: RotationRunner,
    private readonly rollout: RolloutController,
  ) {}

  @Interval(1000)
  async sweep(): Promise<void> {
    await this.runner.fill();
  }

  @Interval(2000)
  rollOut(): Promise<void> {
    return this.looks.run(() => this.rollout.lookAtAll());
  }
}
