import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../platform/jobs/runners.js';
import { ApprovalEndings } from './decisions/approval-endings.service.js';
import { ApprovalNotices } from './notices/approval-notices.js';

/** What happens to approvals when nobody does anything: they end, people are reminded, and notices go out. */
@Injectable()
export class ApprovalsSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger(ApprovalsSchedule.name);
  private readonly expiries = this.singleFlight('ending what is late');
  private readonly losses = this.singleFlight('withdrawing requests of people who lost their rights');
  private readonly reminders = this.singleFlight('reminding');
  private readonly sendings = this.singleFlight('sending notices');

  constructor(
    private readonly endings: ApprovalEndings,
    private readonly notices: ApprovalNotices,
  ) {}

  @Interval(1000)
  expire(): Promise<void> {
    return this.expiries.run(() => this.endings.expire());
  }

  @Interval(5000)
  withdrawLost(): Promise<void> {
    return this.losses.run(() => this.endings.withdrawLost());
  }

  @Interval(1000)
  remind(): Promise<void> {
    return this.reminders.run(() => this.notices.remind());
  }

  @Interval(500)
  send(): Promise<void> {
    return this.sendings.run(() => this.notices.send());
  }

  /** Lets what is under way finish, while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.expiries.stop(), this.losses.stop(), this.reminders.stop(), this.sendings.stop()]);
  }

  private singleFlight(what: string): SingleFlight {
    return new SingleFlight((error) => this.logger.warn(`${what} failed and will be repeated: ${String(error)}`));
  }
}
