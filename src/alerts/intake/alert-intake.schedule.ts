import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { AlertNotifier } from '../notices/alert-notifier.js';
import { AlertIntake } from './alert-intake.js';

/** Looks every second for what happened, and for who is to be told. */
@Injectable()
export class AlertIntakeSchedule {
  private readonly logger = new Logger(AlertIntakeSchedule.name);
  private readonly looks = new SingleFlight((error) => this.logger.warn(`alerts wait: ${String(error)}`));

  constructor(
    private readonly intake: AlertIntake,
    private readonly notifier: AlertNotifier,
  ) {}

  @Interval(1000)
  look(): Promise<void> {
    return this.looks.run(async () => {
      while ((await this.intake.take()) > 0);
      while ((await this.notifier.notify()) > 0);
    });
  }
}
