import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { IdempotencyKeys } from './idempotency-keys.js';

@Injectable()
export class IdempotencySchedule {
  private readonly logger = new Logger(IdempotencySchedule.name);

  constructor(private readonly keys: IdempotencyKeys) {}

  @Interval(15 * 60_000)
  async expire(): Promise<void> {
    await this.keys
      .expire()
      .catch((error: unknown) => this.logger.warn(`old keys stay a while longer: ${String(error)}`));
  }
}
