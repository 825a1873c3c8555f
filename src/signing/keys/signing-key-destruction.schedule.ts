import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SigningKeyDestroyer } from './signing-key-destroyer.js';

/** Looks every second whether the waiting time of a key is over. */
@Injectable()
export class SigningKeyDestructionSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SigningKeyDestructionSchedule.name);
  private running: Promise<void> | undefined;
  private stopping = false;

  constructor(private readonly destroyer: SigningKeyDestroyer) {}

  @Interval(1000)
  async look(): Promise<void> {
    if (this.stopping || this.running !== undefined) return;
    this.running = this.destroyer
      .destroyDue(() => this.stopping)
      .catch((error: unknown) => this.logger.warn(`keys are destroyed later: ${String(error)}`))
      .finally(() => (this.running = undefined));
    await this.running;
  }

  /** Lets the key that is being destroyed be, while database and HSM are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await this.running;
  }
}
