import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ApprovalEndings } from './decisions/approval-endings.js';
import { ApprovalNotices } from './notices/approval-notices.js';

/** What happens to approvals when nobody does anything: they end, people are reminded, and notices go out. */
@Injectable()
export class ApprovalsSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger(ApprovalsSchedule.name);
  private readonly busy = new Map<string, Promise<void>>();
  private stopping = false;

  constructor(
    private readonly endings: ApprovalEndings,
    private readonly notices: ApprovalNotices,
  ) {}

  @Interval(1000)
  expire(): Promise<void> {
    return this.once('ending what is late', () => this.endings.expire());
  }

  @Interval(1000)
  remind(): Promise<void> {
    return this.once('reminding', () => this.notices.remind());
  }

  @Interval(500)
  tell(): Promise<void> {
    return this.once('telling', () => this.notices.send());
  }

  /** Lets what is under way finish, while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.busy.values());
  }

  /** A run that takes longer than its interval is not joined by a second one. */
  private async once(what: string, work: () => Promise<void>): Promise<void> {
    if (this.stopping || this.busy.has(what)) return;
    const run = work()
      .catch((error: unknown) => this.logger.warn(`${what} failed and will be repeated: ${String(error)}`))
      .finally(() => this.busy.delete(what));
    this.busy.set(what, run);
    await run;
  }
}
