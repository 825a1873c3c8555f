import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { OldRows } from '../platform/database/old-rows.js';
import { SingleFlight } from '../platform/jobs/runners.js';
import { ScheduleStarter } from './schedule-starter.js';
import { ScheduleTicker } from './schedule-ticker.js';

/** Runs that are kept however old they are: a schedule may be due once a year only. */
const KEPT_RUNS = 100;
const NOT_AMONG_NEWEST = `t.due_at <= (SELECT n.due_at FROM schedule_run n WHERE n.schedule_id = t.schedule_id
  ORDER BY n.due_at DESC OFFSET ${KEPT_RUNS} LIMIT 1)`;

/** Looks every second for what is due. */
@Injectable()
export class ScheduleClock {
  private readonly logger = new Logger(ScheduleClock.name);
  private readonly looks = new SingleFlight((error) => this.logger.warn(`schedules wait: ${String(error)}`));

  constructor(
    private readonly ticker: ScheduleTicker,
    private readonly starter: ScheduleStarter,
    old: OldRows,
  ) {
    old.forget({
      table: 'schedule_run',
      where: `t.status NOT IN ('DUE', 'RUNNING') AND ${NOT_AMONG_NEWEST}`,
      since: 'due_at',
    });
  }

  @Interval(1000)
  look(): Promise<void> {
    return this.looks.run(async () => {
      while ((await this.ticker.tick()) > 0);
      while (await this.starter.startOne());
    });
  }

  @Interval(10_000)
  async endOverdue(): Promise<void> {
    await this.starter
      .endOverdue()
      .catch((error: unknown) => this.logger.warn(`overdue runs were not ended: ${String(error)}`));
  }
}
