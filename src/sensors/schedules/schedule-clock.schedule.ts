import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ScheduleStarter } from './schedule-starter.js';
import { ScheduleTicker } from './schedule-ticker.js';

/** Looks every second for what is due. */
@Injectable()
export class ScheduleClock {
  private readonly logger = new Logger(ScheduleClock.name);
  private looking = false;

  constructor(
    private readonly ticker: ScheduleTicker,
    private readonly starter: ScheduleStarter,
  ) {}

  @Interval(1000)
  async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      while ((await this.ticker.tick()) > 0);
      while (await this.starter.startOne());
    } catch (error) {
      this.logger.warn(`schedules wait: ${String(error)}`);
    } finally {
      this.looking = false;
    }
  }

  @Interval(10_000)
  async endOverdue(): Promise<void> {
    await this.starter
      .endOverdue()
      .catch((error: unknown) => this.logger.warn(`overdue runs were not ended: ${String(error)}`));
  }
}
