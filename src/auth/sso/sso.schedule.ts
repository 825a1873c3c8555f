import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SamlMessageMarks } from './saml-message-marks.js';
import { SsoTransactions } from './sso-transactions.js';

@Injectable()
export class SsoSchedule {
  private readonly logger = new Logger(SsoSchedule.name);

  constructor(
    private readonly transactions: SsoTransactions,
    private readonly marks: SamlMessageMarks,
  ) {}

  @Interval(10 * 60_000)
  async expire(): Promise<void> {
    await Promise.all([this.transactions.expire(), this.marks.expire()]).catch((error: unknown) =>
      this.logger.warn(`old sign-ins stay a while longer: ${String(error)}`),
    );
  }
}
