import { Injectable } from '@nestjs/common';
import { type EntityManager, DataSource } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { Seal } from '../../platform/sealing/seal.js';
import { MailMessage } from './mail-message.entity.js';
import { oneLine } from '../../platform/text/truncate.js';
import { Config } from '../../platform/config/config.js';
import { HealthIndicators, type Indication } from '../../platform/observability/health-indicators.js';

export interface NewMail {
  readonly recipient: string;
  readonly subject: string;
  /** Plain text. May contain a secret link. */
  readonly text: string;
  /** HTML version of the text. */
  readonly html?: string;
  /** Time in seconds after which the email is no longer sent. */
  readonly goodForSeconds: number;
}

/** Maximum length in UTF-16 code units: a few header lines after encoding and folding (RFC 5322 section 2.2.3, RFC 2047). */
export const MAX_SUBJECT = 200;
const SEAL = 'mail to a recipient';
/** Seal purpose in earlier versions, which bound the ciphertext only to the ID of the email. */
const UNBOUND_SEAL = 'mail';

/** closeMail encrypts text for one recipient. The ciphertext cannot be decrypted if the row contains a different recipient. */
export function closeMail(seal: Seal, { id, recipient }: { id: string; recipient: string }, text: string): Buffer {
  return seal.close(SEAL, `${id} ${recipient}`, Buffer.from(text));
}

/**
 * openMail decrypts text that closeMail encrypted. Throws if the text was encrypted for another recipient. Also decrypts unsent emails of the previous version.
 */
export function openMail(seal: Seal, { id, recipient }: { id: string; recipient: string }, sealed: Buffer): string {
  try {
    return seal.open(SEAL, `${id} ${recipient}`, sealed).toString();
  } catch {
    return seal.open(UNBOUND_SEAL, id, sealed).toString();
  }
}

/** Mailbox adds emails to the outbox, in the caller's transaction. MailSender sends the emails. */
@Injectable()
export class Mailbox {
  constructor(private readonly seal: Seal) {}

  /** Adds an email and returns its ID. */
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

/** Number of failed attempts to send an email after which the SMTP server is considered unavailable, not merely busy. */
const TRIES = 2;

/** MailHealth reports whether emails can be sent. */
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
    if (!this.config.sendsMail) return { status: 'UNKNOWN', detail: 'no SMTP server is configured (SVC_SMTP_HOST)' };
    const [row]: { waiting: string; failure: string | null }[] = await this.db.query(
      `SELECT count(*) AS waiting, max(failure) AS failure FROM mail_message
       WHERE sent_at IS NULL AND given_up_at IS NULL AND attempts >= $1`,
      [TRIES],
    );
    const waiting = Number(row?.waiting ?? 0);
    return waiting === 0
      ? { status: 'UP', detail: 'email is being delivered' }
      : {
          status: 'DOWN',
          detail: `${waiting} emails are waiting for the SMTP server: ${row?.failure ?? 'no response'}`,
        };
  }
}
