import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { LogChecker } from './log-checker.js';

/** Looks for log checks that schedules have started. */
@Injectable()
export class LogCheckSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger(LogCheckSchedule.name);
  private running: Promise<void> | undefined;

  constructor(private readonly checker: LogChecker) {}

  @Interval(2000)
  async look(): Promise<void> {
    this.running ??= this.checker
      .look()
      .catch((error: unknown) => this.logger.warn(`the log check waits: ${String(error)}`))
      .finally(() => {
        this.running = undefined;
      });
    await this.running;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.running;
  }
}
