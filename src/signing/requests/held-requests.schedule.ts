import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { ApprovalRenewal } from './approval-renewal.js';
import { StoppedKeyRequests } from './stopped-key-requests.js';

/** HeldRequestsSchedule follows changes of keys while requests wait for approval: a rotation renews approvals, a stopped key ends them. */
@Injectable()
export class HeldRequestsSchedule {
  private readonly logger = new Logger(HeldRequestsSchedule.name);
  private readonly renewals = this.singleFlight('renewing the approvals of rotated keys');
  private readonly endings = this.singleFlight('ending the requests of stopped keys');

  constructor(
    private readonly renewal: ApprovalRenewal,
    private readonly stopped: StoppedKeyRequests,
  ) {}

  @Interval(1000)
  renew(): Promise<void> {
    return this.renewals.run(() => this.renewal.renewWaiting());
  }

  @Interval(1000)
  end(): Promise<void> {
    return this.endings.run(() => this.stopped.endWaiting());
  }

  private singleFlight(what: string): SingleFlight {
    return new SingleFlight((error) => this.logger.warn(`${what} failed and will be repeated: ${String(error)}`));
  }
}
