import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ApiKeyRenewalService } from './api-key-renewal.service.js';

const EVERY_MS = 10_000;

@Injectable()
export class RenewalSchedule {
  private readonly logger = new Logger(RenewalSchedule.name);

  constructor(private readonly renewal: ApiKeyRenewalService) {}

  @Interval(EVERY_MS)
  async warn(): Promise<void> {
    await this.renewal
      .warn()
      .catch((error: unknown) => this.logger.warn(`owners of ending API keys were not told yet: ${String(error)}`));
  }
}
