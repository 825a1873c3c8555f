import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ApprovalRenewal } from './approval-renewal.js';

/** Asks anew, soon after a key was rotated, and not only when the old approval is there. */
@Injectable()
export class HeldRequestsSchedule {
  private readonly logger = new Logger(HeldRequestsSchedule.name);
  private running = false;

  constructor(private readonly renewal: ApprovalRenewal) {}

  @Interval(1000)
  async renew(): Promise<void> {
    if (this.running) return;
    this.running = true;
    await this.renewal
      .renewWaiting()
      .catch((error: unknown) => this.logger.warn(`approvals of rotated keys are asked later: ${String(error)}`))
      .finally(() => (this.running = false));
  }
}
