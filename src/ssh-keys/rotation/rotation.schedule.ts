import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RolloutController } from './rollout/rollout-controller.js';
import { RotationRunner } from './rotation-flow.js';
import { SingleFlight } from '../../platform/jobs/runners.js';

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
