import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RolloutController } from './rollout/rollout-controller.js';
import { RotationRunner } from './rotation-flow.js';

/** Finds what is due by time, whose worker died, or whose signal was never sent. */
@Injectable()
export class RotationSchedule {
  private readonly logger = new Logger(RotationSchedule.name);
  private conducting = false;

  constructor(
    private readonly runner: RotationRunner,
    private readonly rollout: RolloutController,
  ) {}

  @Interval(1000)
  async sweep(): Promise<void> {
    await this.runner.fill();
  }

  @Interval(2000)
  async conduct(): Promise<void> {
    if (this.conducting) return;
    this.conducting = true;
    await this.rollout
      .lookAtAll()
      .catch((error: unknown) => this.logger.warn(`rotations were not looked at: ${String(error)}`));
    this.conducting = false;
  }
}
