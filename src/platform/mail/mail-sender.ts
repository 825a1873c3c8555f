import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { OldRows } from '../work/old-rows.js';
import { WorkPool } from '../jobs/work-pool.js';
import { Seal } from '../sealing/seal.js';
import { isRecipientUnknown, newMailTransport } from './mail-transport.js';
import { MAX_SUBJECT, openMail } from './mailbox.js';
import { oneLine } from '../text/truncate.js';
import { Background } from '../work/background.js';
import { type ClaimedRow, dueRowsOf, WorkQueue } from '../work/work-queue.js';

interface Claimed extends ClaimedRow {
  readonly recipient: string;
  readonly subject: string;
  readonly body: Buffer;
  readonly html: Buffer | null;
}

const QUEUE = {
  table: 'mail_message',
  attempt: 'attempts',
  dueAt: 'next_try_at',
  open: 'sent_at IS NULL AND given_up_at IS NULL',
  columns: 't.recipient, t.subject, t.body, t.html',
  leaseSeconds: 30,
  firstPauseSeconds: 5,
  longestPauseSeconds: 900,
};
/** How long a process that ends waits for the mail under way; after that its lease ends, and another process sends it. */
const STOP_MS = 10_000;

/**
 * Sends what waits in the outbox, mail by mail. A claimed row is out of reach of other processes under a lease that is renewed,
 * however slow the SMTP server is; a mail whose process dies with it may arrive twice, but is never lost. A mail that is past its time
 * is given up.
 */
@Injectable()
export class MailSender implements BeforeApplicationShutdown {
  private readonly logger = new Logger(MailSender.name);
  private readonly queue: WorkQueue<Claimed>;
  /** One at a time: another process may take the next. */
  private readonly mails = new WorkPool<Claimed>({
    max: 1,
    claim: () => this.claim(),
    run: (mail) => this.queue.hold(mail, () => this.send(mail)),
    failed: (error, { id }) => this.logger.warn(`mail ${id} waits: ${String(error)}`),
  });

  constructor(
    private readonly config: Config,
    private readonly db: DataSource,
    private readonly seal: Seal,
    old: OldRows,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
    const where = 't.sent_at IS NOT NULL OR t.given_up_at IS NOT NULL';
    old.forget({ table: 'mail_message', where, since: 'created_at' });
  }

  @Background({ name: 'mail', scope: 'process', due: dueRowsOf(QUEUE), when: ({ sendsMail }) => sendsMail })
  fill(): Promise<void> {
    return this.mails.fill();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.race([this.mails.stop(), sleep(STOP_MS, undefined, { ref: false })]);
  }

  private async claim(): Promise<Claimed[]> {
    await this.db.query(
      `UPDATE mail_message SET given_up_at = now(), body = NULL, html = NULL
       WHERE ${QUEUE.open} AND next_try_at <= now() AND expires_at <= now()`,
    );
    return this.queue.claim(1, 'expires_at > now()');
  }

  /** Unless it succeeds, the next try is due after 5 s, 10 s, 20 s … up to 15 minutes. */
  private async send(mail: Claimed): Promise<void> {
    const { id, recipient, subject, body, html } = mail;
    // For each mail anew, as is its connection: the password may have been replaced since.
    const transport = newMailTransport(this.config);
    try {
      const text = openMail(this.seal, mail, body);
      const messageId = `<${id}@${new URL(this.config.publicUrl).hostname}>`;
      await transport.sendMail({
        from: this.config.mailFrom,
        to: { name: '', address: recipient },
        subject: oneLine(subject, MAX_SUBJECT),
        text,
        ...(html === null ? {} : { html: openMail(this.seal, mail, html) }),
        messageId,
      });
      await this.db.query(
        `UPDATE mail_message SET sent_at = now(), body = NULL, html = NULL, failure = NULL WHERE id = $1`,
        [id],
      );
    } catch (error) {
      const failure = oneLine(error instanceof Error ? error.message : String(error), 300);
      if (isRecipientUnknown(error)) return await this.giveUp(mail, failure);
      this.logger.warn(`mail ${id} waits for its next try: ${failure}`);
      await this.queue.retry(mail, 'failure = $3', failure);
    } finally {
      transport.close();
    }
  }

  /** Another try would end in the same way (RFC 5321 section 4.2.1), and would look as if the server were away. */
  private async giveUp(mail: Claimed, failure: string): Promise<void> {
    this.logger.warn(`mail ${mail.id} is discarded because its recipient is unknown: ${failure}`);
    await this.queue.write(mail, 'failure = $3, given_up_at = now(), body = NULL, html = NULL', [failure]);
  }
}
