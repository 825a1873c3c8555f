import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';

/** Mails that were tried so often and still wait mean that the SMTP server is away, and not just busy. */
const TRIES = 2;

/** Whether mails leave. */
@Injectable()
export class MailHealth {
  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    indicators: HealthIndicators,
  ) {
    indicators.add('mail', () => this.read());
  }

  private async read(): Promise<Indication> {
    if (!this.config.sendsMail) return { status: 'UNKNOWN', detail: 'no SMTP server is set up (SVC_SMTP_HOST)' };
    const [row]: { waiting: string; failure: string | null }[] = await this.db.query(
      `SELECT count(*) AS waiting, max(failure) AS failure FROM mail_message
       WHERE sent_at IS NULL AND given_up_at IS NULL AND attempts >= $1`,
      [TRIES],
    );
    const waiting = Number(row?.waiting ?? 0);
    return waiting === 0
      ? { status: 'UP', detail: 'mails leave' }
      : { status: 'DOWN', detail: `${waiting} mails wait for the SMTP server: ${row?.failure ?? 'no answer'}` };
  }
}
