import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { newId } from '../database/new-id.js';
import { Seal } from '../sealing/seal.js';
import { MailMessage } from './mail-message.entity.js';
import { oneLine } from '../text/one-line.js';

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

export const MAIL_SEAL = 'mail';
/** UTF-16 code units: a few lines of a header once it is encoded and folded (RFC 5322 section 2.2.3, RFC 2047). */
export const MAX_SUBJECT = 200;

/** Puts mails into the outbox, in the transaction of what they tell of. MailSender sends them. */
@Injectable()
export class Mailbox {
  constructor(private readonly seal: Seal) {}

  /** Answers the id of the mail. */
  async put(tx: EntityManager, mail: NewMail): Promise<string> {
    const id = newId();
    await tx.insert(MailMessage, {
      id,
      recipient: mail.recipient,
      subject: oneLine(mail.subject, MAX_SUBJECT),
      body: this.seal.close(MAIL_SEAL, id, Buffer.from(mail.text)),
      html: mail.html === undefined ? null : this.seal.close(MAIL_SEAL, id, Buffer.from(mail.html)),
      expiresAt: new Date(Date.now() + mail.goodForSeconds * 1000),
    });
    return id;
  }
}
