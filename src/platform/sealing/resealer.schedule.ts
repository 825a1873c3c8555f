import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Interval, Timeout } from '@nestjs/schedule';
import { JobLeases } from '../jobs/job-lease.repository.js';
import { SingleFlight } from '../jobs/runners.js';
import { Resealer } from './resealer.js';

const FIRST_LOOK_MS = 10_000;
const LOOK_EVERY_MS = 60_000;

/** Reseals in the background, in one of the processes that work there. */
@Injectable()
export class ResealerSchedule implements OnModuleDestroy {
  private readonly logger = new Logger(ResealerSchedule.name);
  private readonly looks = new SingleFlight((error) =>
    this.logger.warn(`secrets were not sealed anew: ${String(error)}`),
  );
  private stopping = false;

  constructor(
    private readonly resealer: Resealer,
    private readonly leases: JobLeases,
  ) {}

  @Timeout(FIRST_LOOK_MS)
  @Interval(LOOK_EVERY_MS)
  async look(): Promise<void> {
    await this.looks.run(() => this.leases.alone('reseal', () => this.resealer.run(() => this.stopping)));
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }
}
