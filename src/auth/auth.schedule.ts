import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ApiKeysService } from './api-keys/api-keys.service.js';

@Injectable()
export class AuthSchedule {
  private readonly logger = new Logger(AuthSchedule.name);

  constructor(private readonly apiKeys: ApiKeysService) {}

  @Interval(10_000)
  async storeLastUse(): Promise<void> {
    await this.apiKeys
      .storeLastUse()
      .catch((error: unknown) => this.logger.warn(`last use of API keys was not stored: ${String(error)}`));
  }
}
