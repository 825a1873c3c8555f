import { Injectable } from '@nestjs/common';
import { RowRetention } from '../platform/work/row-retention.js';
import { Background } from '../platform/work/background.js';
import { OVERDUE_RUN, ScheduleStarter } from './schedule-starter.js';
import { DUE_SCHEDULE, ScheduleTicker } from './schedule-ticker.js';

/** Number of runs to keep regardless of age, because a schedule may be due only once a year. */
const KEPT_RUNS = 100;
const NOT_AMONG_NEWEST = `t.due_at <= (SELECT n.due_at FROM schedule_run n WHERE n.schedule_id = t.schedule_id
  ORDER BY n.due_at DESC OFFSET ${KEPT_RUNS} LIMIT 1)`;

const DUE_RUN = { table: 'schedule_run', where: `t.status = 'DUE'`, order: 't.id' };

/** ScheduleClock creates runs for due times, starts due runs, and ends runs that exceed their time limit. */
@Injectable()
export class ScheduleClock {
  constructor(
    private readonly ticker: ScheduleTicker,
    private readonly starter: ScheduleStarter,
    old: RowRetention,
  ) {
    old.forget({
      table: 'schedule_run',
      where: `t.status NOT IN ('DUE', 'RUNNING') AND ${NOT_AMONG_NEWEST}`,
      since: 'due_at',
    });
  }

  @Background({ name: 'schedules', scope: 'process', due: [DUE_SCHEDULE, DUE_RUN] })
  async startDue(): Promise<void> {
    while ((await this.ticker.tick()) > 0);
    while (await this.starter.startOne());
  }

  @Background({ name: 'schedules-overdue', scope: 'process', due: OVERDUE_RUN })
  endOverdue(): Promise<void> {
    return this.starter.endOverdue();
  }
}
