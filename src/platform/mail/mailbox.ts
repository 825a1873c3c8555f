import { Injectable } from '@nestjs/common';
import { type EntityManager, DataSource } from 'typeorm';
import { newId } from '../database/new-id.js';
import { Seal } from '../sealing/seal.js';
import { MailMessage } from './mail-message.entity.js';
import { oneLine } from '../text/truncate.js';
import { Config } from '../config/config.js';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';

export interface NewMail {
  readonly recipient: string;
  readonly subject: string;
  /** Plain text. May hold a secret link. */
  readonly text: string;
  /** The same for readers of HTML. */
  readonly html?: string;
  /** After that it is not sent any more. */
  readonly goodForSeconds: number;
}

/** UTF-16 code units: a few lines of a header once it is encoded and folded (RFC 5322 section 2.2.3, RFC 2047). */
export const MAX_SUBJECT = 200;
const SEAL = 'mail to a recipient';
/** Seal of mails of earlier versions, bound to the id of the mail alone. */
const UNBOUND_SEAL = 'mail';

/** The text is for one recipient: in a row that names another one it cannot be opened. */
export function closeMail(seal: Seal, { id, recipient }: { id: string; recipient: string }, text: string): Buffer {
  return seal.close(SEAL, `${id} ${recipient}`, Buffer.from(text));
}

/** Throws when the mail was written for another recipient. What a version before wrote opens too, until it is sent. */
export function openMail(seal: Seal, { id, recipient }: { id: string; recipient: string }, sealed: Buffer): string {
  try {
    return seal.open(SEAL, `${id} ${recipient}`, sealed).toString();
  } catch {
    return seal.open(UNBOUND_SEAL, id, sealed).toString();
  }
}

/** Puts mails into their table, in the transaction of what they report. MailSender sends them. */
@Injectable()
export class Mailbox {
  constructor(private readonly seal: Seal) {}

  /** Answers the id of the mail. */
  async put(tx: EntityManager, mail: NewMail): Promise<string> {
    const id = newId();
    const to = { id, recipient: mail.recipient };
    await tx.insert(MailMessage, {
      ...to,
      subject: oneLine(mail.subject, MAX_SUBJECT),
      body: closeMail(this.seal, to, mail.text),
      html: mail.html === undefined ? null : closeMail(this.seal, to, mail.html),
      expiresAt: new Date(Date.now() + mail.goodForSeconds * 1000),
    });
    return id;
  }
}

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
