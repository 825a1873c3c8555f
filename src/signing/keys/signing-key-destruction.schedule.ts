import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { SigningKeyDestroyer } from './signing-key-destroyer.js';

/** Looks every second whether the waiting time of a key is over. */
@Injectable()
export class SigningKeyDestructionSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SigningKeyDestructionSchedule.name);
  private readonly runs = new SingleFlight((error) => this.logger.warn(`keys are destroyed later: ${String(error)}`));

  constructor(private readonly destroyer: SigningKeyDestroyer) {}

  @Interval(1000)
  look(): Promise<void> {
    return this.runs.run(() => this.destroyer.destroyDue(() => this.runs.isStopping));
  }

  /** Lets the key that is being destroyed be, while database and HSM are still open. */
  beforeApplicationShutdown(): Promise<void> {
    return this.runs.stop();
  }
}
