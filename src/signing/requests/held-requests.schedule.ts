import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { ApprovalRenewal } from './approval-renewal.js';

/** Asks anew, soon after a key was rotated, and not only when the old approval is there. */
@Injectable()
export class HeldRequestsSchedule {
  private readonly logger = new Logger(HeldRequestsSchedule.name);
  private readonly renewals = new SingleFlight((error) =>
    this.logger.warn(`approvals of rotated keys are asked later: ${String(error)}`),
  );

  constructor(private readonly renewal: ApprovalRenewal) {}

  @Interval(1000)
  renew(): Promise<void> {
    return this.renewals.run(() => this.renewal.renewWaiting());
  }
}
