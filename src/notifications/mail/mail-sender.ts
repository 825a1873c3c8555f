import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { RowRetention } from '../../platform/work/row-retention.js';
import { WorkPool } from '../../platform/work/work-pool.js';
import { Seal } from '../../platform/sealing/seal.js';
import { isRecipientUnknown, newMailTransport } from './mail-transport.js';
import { MAX_SUBJECT, openMail } from './mailbox.js';
import { oneLine } from '../../platform/text/truncate.js';
import { Background } from '../../platform/work/background.js';
import { type ClaimedRow, dueRowsOf, WorkQueue } from '../../platform/work/work-queue.js';

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
  // Emails that expire first are sent first, so that a sign-in link is not delayed by thousands of notices.
  order: 'expires_at',
  open: 'sent_at IS NULL AND given_up_at IS NULL',
  columns: 't.recipient, t.subject, t.body, t.html',
  leaseSeconds: 30,
  firstPauseSeconds: 5,
  longestPauseSeconds: 900,
};
/** Maximum time that a stopping process waits for the email in progress. The lease then expires, and another process sends the email. */
const STOP_MS = 10_000;

/**
 * MailSender sends the emails in the outbox. The lease on a claimed row is renewed until the SMTP server responds, so that no other process sends the same
 * email. If a process crashes, its email may be sent twice but is never lost. Expired emails are discarded.
 */
@Injectable()
export class MailSender implements BeforeApplicationShutdown {
  private readonly logger = new Logger(MailSender.name);
  private readonly queue: WorkQueue<Claimed>;
  /** Sends one email at a time, so that other processes can claim further emails. */
  private readonly mails = new WorkPool<Claimed>({
    max: 1,
    claim: () => this.claim(),
    run: (mail) => this.queue.hold(mail, () => this.send(mail)),
    failed: (error, { id }) => this.logger.warn(`email ${id} failed, will retry: ${String(error)}`),
  });

  constructor(
    private readonly config: Config,
    private readonly db: DataSource,
    private readonly seal: Seal,
    old: RowRetention,
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

  /** Sends an email. After a failure, the email is retried after 5 s, 10 s, 20 s and so on, up to 15 minutes. */
  private async send(mail: Claimed): Promise<void> {
    const { id, recipient, subject, body, html } = mail;
    // Created for each email, because the password may have changed.
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
      this.logger.warn(`email ${id} failed, will retry: ${failure}`);
      await this.queue.retry(mail, 'failure = $3', [failure]);
    } finally {
      transport.close();
    }
  }

  /** Discards an email to an unknown recipient. A retry would fail in the same way (RFC 5321 section 4.2.1) and make the server appear unavailable. */
  private async giveUp(mail: Claimed, failure: string): Promise<void> {
    this.logger.warn(`discarded email ${mail.id} because its recipient is unknown: ${failure}`);
    await this.queue.write(mail, 'failure = $3, given_up_at = now(), body = NULL, html = NULL', [failure]);
  }
}
