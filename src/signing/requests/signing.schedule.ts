import { type BeforeApplicationShutdown, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { QueueHealth } from '../../platform/queue/queue-health.js';
import { SigningKeysService } from '../keys/signing-keys.service.js';
import { TimestampRepository } from '../timestamping/timestamp.repository.js';
import { SigningClaims } from './signing-claims.js';
import { SigningExecutor } from './signing-executor.js';

/** Finds what fell through: requests of dead processes, signals that were never sent, keys whose maker died. */
@Injectable()
export class SigningSchedule implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly logger = new Logger(SigningSchedule.name);
  private readonly sweeps = this.singleFlight('sweep');
  private readonly expiries = this.singleFlight('expire');
  private stopped: Promise<unknown> | undefined;

  constructor(
    private readonly claims: SigningClaims,
    private readonly executor: SigningExecutor,
    private readonly keys: SigningKeysService,
    private readonly queue: QueueHealth,
    private readonly timestamps: TimestampRepository,
  ) {}

  /** With Redis gone this is how requests are found, so it looks often. */
  @Interval(250)
  sweepWithoutQueue(): Promise<void> {
    return this.sweeps.run(async () => {
      if (!this.queue.reachable) await this.executor.sweep(true, () => this.sweeps.isStopping);
    });
  }

  @Interval(1000)
  sweep(): Promise<void> {
    return this.sweeps.run(async () => {
      const back = await this.claims.reclaim();
      const late = await this.executor.sweep(!this.queue.reachable, () => this.sweeps.isStopping);
      if (back + late > 0) this.logger.log('picked up what was left behind', { reclaimed: back, late });
    });
  }

  @Interval(60_000)
  endWhatIsTooOld(): Promise<void> {
    return this.expiries.run(async () => {
      await this.claims.expire();
      await this.keys.failAbandoned();
      await this.timestamps.giveUp();
    });
  }

  onModuleDestroy(): void {
    this.stopped = Promise.all([this.sweeps.stop(), this.expiries.stop()]);
  }

  /** Lets the run under way finish, while database and HSM are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.stopped;
  }

  private singleFlight(name: string): SingleFlight {
    return new SingleFlight((error) => this.logger.warn(`${name} failed and will be repeated: ${String(error)}`));
  }
}
