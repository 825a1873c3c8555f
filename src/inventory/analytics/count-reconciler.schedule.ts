import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { CountReconciler } from './count-reconciler.service.js';

const LOOK_EVERY_MS = 60_000;

/** Looks whether the counts are to be compared with the assets again. */
@Injectable()
export class CountReconcilerSchedule {
  private readonly logger = new Logger(CountReconcilerSchedule.name);
  private readonly looks = new SingleFlight((error) => this.logger.warn(`counts were not compared: ${String(error)}`));

  constructor(private readonly reconciler: CountReconciler) {}

  @Interval(LOOK_EVERY_MS)
  look(): Promise<void> {
    return this.looks.run(() => this.reconciler.look());
  }
}
