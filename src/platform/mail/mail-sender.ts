import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { Transporter } from 'nodemailer';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { Seal } from '../sealing/seal.js';
import { newMailTransport } from './mail-transport.js';
import { MAIL_SEAL } from './mailbox.js';

interface Claimed {
  readonly id: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: Buffer;
  readonly html: Buffer | null;
}

const MOST = 10;

/**
 * Sends what waits in the outbox. A claimed row is out of reach of other processes until its next try is due, which is also how
 * a mail survives a process that dies with it: it may then arrive twice, but is never lost. A mail that is past its time is given up.
 */
@Injectable()
export class MailSender implements BeforeApplicationShutdown {
  private readonly logger = new Logger(MailSender.name);
  private readonly transport: Transporter;
  private sending: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly db: DataSource,
    private readonly seal: Seal,
  ) {
    this.transport = newMailTransport(config);
  }

  @Interval(1000)
  async look(): Promise<void> {
    if (!this.config.sendsMail) return;
    this.sending ??= this.sendAll()
      .catch((error: unknown) => this.logger.warn(`mails wait: ${String(error)}`))
      .finally(() => {
        this.sending = undefined;
      });
    await this.sending;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sending;
    this.transport.close();
  }

  private async sendAll(): Promise<void> {
    for (let claimed = await this.claim(); claimed.length > 0; claimed = await this.claim()) {
      for (const mail of claimed) await this.send(mail);
    }
  }

  /** The next try is due after 5 s, 10 s, 20 s … up to 15 minutes, unless this one succeeds. */
  private async claim(): Promise<Claimed[]> {
    await this.db.query(
      `UPDATE mail_message SET given_up_at = now(), body = NULL, html = NULL
       WHERE sent_at IS NULL AND given_up_at IS NULL AND next_try_at <= now() AND expires_at <= now()`,
    );
    const [claimed]: [Claimed[], number] = await this.db.query(
      `UPDATE mail_message m SET attempts = m.attempts + 1,
         next_try_at = now() + make_interval(secs => greatest(30, least(900, 5 * power(2, least(m.attempts, 10)))))
       FROM (SELECT id FROM mail_message WHERE sent_at IS NULL AND given_up_at IS NULL AND next_try_at <= now()
         ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
       WHERE m.id = due.id RETURNING m.id, m.recipient, m.subject, m.body, m.html`,
      [MOST],
    );
    return claimed;
  }

  private async send({ id, recipient, subject, body, html }: Claimed): Promise<void> {
    try {
      const text = this.seal.open(MAIL_SEAL, id, body).toString();
      const messageId = `<${id}@${new URL(this.config.publicUrl).hostname}>`;
      await this.transport.sendMail({
        from: this.config.mailFrom,
        to: { name: '', address: recipient },
        subject,
        text,
        ...(html === null ? {} : { html: this.seal.open(MAIL_SEAL, id, html).toString() }),
        messageId,
      });
      await this.db.query(
        `UPDATE mail_message SET sent_at = now(), body = NULL, html = NULL, failure = NULL WHERE id = $1`,
        [id],
      );
    } catch (error) {
      const failure = (error instanceof Error ? error.message : String(error)).slice(0, 300);
      this.logger.warn(`mail ${id} waits for its next try: ${failure}`);
      await this.db.query(
        `UPDATE mail_message SET failure = $2, next_try_at = now() + make_interval(secs => least(900, 5 * power(2, least(attempts - 1, 10)))) WHERE id = $1 AND sent_at IS NULL`,
        [id, failure],
      );
    }
  }
}
