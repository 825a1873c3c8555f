import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AlertNotifier } from '../notices/alert-notifier.js';
import { AlertIntake } from './alert-intake.js';

/** Takes alert events and sends due notifications every second. */
@Injectable()
export class AlertIntakeSchedule {
  private readonly logger = new Logger(AlertIntakeSchedule.name);
  private running = false;

  constructor(
    private readonly intake: AlertIntake,
    private readonly notifier: AlertNotifier,
  ) {}

  @Interval(1000)
  async run(): Promise<void> {
    if (this.running) return;
    this.running = true;
    try {
      while ((await this.intake.take()) > 0);
      while ((await this.notifier.notify()) > 0);
    } catch (error) {
      this.logger.warn(`alert events wait: ${String(error)}`);
    } finally {
      this.running = false;
    }
  }
}
