import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AgedKeys } from './aged-keys.service.js';

/** Has policies looked at whose time has come. */
@Injectable()
export class RotationPoliciesSchedule {
  private readonly logger = new Logger(RotationPoliciesSchedule.name);

  constructor(private readonly keys: AgedKeys) {}

  @Interval(5000)
  async sweep(): Promise<void> {
    await this.keys.look().catch((error: unknown) => this.logger.warn(`policies wait: ${String(error)}`));
  }
}
