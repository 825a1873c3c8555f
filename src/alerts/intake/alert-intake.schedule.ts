import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { AlertNotifier } from '../notices/alert-notifier.js';
import { AlertIntake } from './alert-intake.js';

/** Takes alert events and sends due notifications every second. */
@Injectable()
export class AlertIntakeSchedule {
  private readonly logger = new Logger(AlertIntakeSchedule.name);
  private readonly looks = new SingleFlight((error) => this.logger.warn(`alert events wait: ${String(error)}`));

  constructor(
    private readonly intake: AlertIntake,
    private readonly notifier: AlertNotifier,
  ) {}

  @Interval(1000)
  run(): Promise<void> {
    return this.looks.run(async () => {
      while ((await this.intake.take()) > 0);
      while ((await this.notifier.notify()) > 0);
    });
  }
}
