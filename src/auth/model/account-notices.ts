import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../platform/http/origin.js';
import { Mailbox } from '../../notifications/mail/mailbox.js';

/** AccountNotices notifies users by email of changes to their accounts, in case someone else made a change. */
@Injectable()
export class AccountNotices {
  constructor(private readonly mailbox: Mailbox) {}

  /** Queues the email. `what` is a sentence without its full stop. */
  async accountChanged(tx: EntityManager, recipient: string, what: string, { address }: Origin): Promise<void> {
    const from = address === '' ? '' : ` from the address ${address}`;
    await this.mailbox.put(tx, {
      recipient,
      subject: `Sealwright: ${what}`,
      text: `${what}${from}.\n\nIf you made this change, no action is required. If you did not, contact your administrator immediately.\n`,
      goodForSeconds: 3 * 24 * 3600,
    });
  }
}
