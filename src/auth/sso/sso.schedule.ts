import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SsoTransactions } from './sso-transactions.js';

@Injectable()
export class SsoSchedule {
  private readonly logger = new Logger(SsoSchedule.name);

  constructor(private readonly transactions: SsoTransactions) {}

  @Interval(10 * 60_000)
  async expire(): Promise<void> {
    await this.transactions
      .expire()
      .catch((error: unknown) => this.logger.warn(`old sign-ins stay a while longer: ${String(error)}`));
  }
}
