import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { OldRows } from '../work/old-rows.js';
import { claimDue, backOff, underLease } from '../jobs/claim.js';
import { WorkPool } from '../jobs/work-pool.js';
import { Seal } from '../sealing/seal.js';
import { isRecipientUnknown, newMailTransport } from './mail-transport.js';
import { MAX_SUBJECT, openMail } from './mailbox.js';
import { oneLine } from '../text/truncate.js';
import { Background } from '../work/background.js';

interface Claimed {
  readonly id: string;
  /** Number of this attempt, which is the fence: a later claim has another. */
  readonly attempts: number;
  readonly recipient: string;
  readonly subject: string;
  readonly body: Buffer;
  readonly html: Buffer | null;
}

const WAITING = 'sent_at IS NULL AND given_up_at IS NULL AND next_try_at <= now()';
const DUE = { table: 'mail_message', where: WAITING, order: 'next_try_at' };
const LEASE_SECONDS = 30;
/** How long a process that ends waits for the mail under way; after that its lease ends, and another process sends it. */
const STOP_MS = 10_000;
const RENEW_EVERY_MS = 10_000;
const FIRST_PAUSE_SECONDS = 5;
const MAX_PAUSE_SECONDS = 900;

/**
 * Sends what waits in the outbox, mail by mail. A claimed row is out of reach of other processes under a lease that is renewed,
 * however slow the SMTP server is; a mail whose process dies with it may arrive twice, but is never lost. A mail that is past its time
 * is given up.
 */
@Injectable()
export class MailSender implements BeforeApplicationShutdown {
  private readonly logger = new Logger(MailSender.name);
  /** One at a time: another process may take the next. */
  private readonly mails = new WorkPool<Claimed>({
    max: 1,
    claim: () => this.claim(),
    run: (mail) =>
      underLease(
        RENEW_EVERY_MS,
        () => this.renew(mail),
        () => this.send(mail),
      ),
    failed: (error, { id }) => this.logger.warn(`mail ${id} waits: ${String(error)}`),
  });

  constructor(
    private readonly config: Config,
    private readonly db: DataSource,
    private readonly seal: Seal,
    old: OldRows,
  ) {
    const where = 't.sent_at IS NOT NULL OR t.given_up_at IS NOT NULL';
    old.forget({ table: 'mail_message', where, since: 'created_at' });
  }

  @Background({ name: 'mail', scope: 'process', due: DUE, when: ({ sendsMail }) => sendsMail })
  fill(): Promise<void> {
    return this.mails.fill();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.race([this.mails.stop(), sleep(STOP_MS, undefined, { ref: false })]);
  }

  private async claim(): Promise<Claimed[]> {
    await this.db.query(
      `UPDATE mail_message SET given_up_at = now(), body = NULL, html = NULL
       WHERE ${WAITING} AND expires_at <= now()`,
    );
    return claimDue(this.db, {
      ...DUE,
      where: `${WAITING} AND expires_at > now()`,
      limit: 1,
      set: `attempts = attempts + 1, next_try_at = now() + interval '${LEASE_SECONDS} seconds'`,
      returning: 't.id, t.attempts, t.recipient, t.subject, t.body, t.html',
    });
  }

  private async renew({ id, attempts }: Claimed): Promise<void> {
    await this.db.query(
      `UPDATE mail_message SET next_try_at = now() + interval '${LEASE_SECONDS} seconds'
       WHERE id = $1 AND attempts = $2 AND sent_at IS NULL`,
      [id, attempts],
    );
  }

  /** Unless it succeeds, the next try is due after 5 s, 10 s, 20 s … up to 15 minutes. */
  private async send(mail: Claimed): Promise<void> {
    const { id, attempts, recipient, subject, body, html } = mail;
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
      await this.db.query(
        `UPDATE mail_message SET failure = $3, next_try_at = now() + make_interval(secs => $4)
         WHERE id = $1 AND attempts = $2 AND sent_at IS NULL`,
        [id, attempts, failure, backOff(attempts, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)],
      );
    } finally {
      transport.close();
    }
  }

  /** Another try would end in the same way (RFC 5321 section 4.2.1), and would look as if the server were away. */
  private async giveUp({ id, attempts }: Claimed, failure: string): Promise<void> {
    this.logger.warn(`mail ${id} is given up, its recipient is unknown: ${failure}`);
    await this.db.query(
      `UPDATE mail_message SET failure = $3, given_up_at = now(), body = NULL, html = NULL
       WHERE id = $1 AND attempts = $2 AND sent_at IS NULL`,
      [id, attempts, failure],
    );
  }
}
