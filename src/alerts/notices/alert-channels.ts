import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type Announcement, EventAnnouncer } from '../../events/event-announcer.service.js';
import { Config } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import { Mailbox } from '../../notifications/mail/mailbox.js';
import type { AlertRule } from '../model/alert-rule.entity.js';
import { alertMail } from './alert-message.js';
import { AlertNotification, type NotificationChannel, type NotificationReason } from '../model/alert.entity.js';

/** Time after which unsent emails are discarded: one week. */
const GOOD_FOR_SECONDS = 7 * 24 * 3600;

export interface Sent {
  readonly channel: NotificationChannel;
  /** ID of the email or of the webhook delivery. */
  readonly reference: string;
}

/** Queues a notification for every channel of a rule, in the caller's transaction. */
@Injectable()
export class AlertChannels {
  constructor(
    private readonly config: Config,
    private readonly mailbox: Mailbox,
    private readonly events: EventAnnouncer,
  ) {}

  async put(tx: EntityManager, rule: AlertRule, message: Announcement): Promise<Sent[]> {
    const mail = alertMail(message, rule.severity);
    const sent: Sent[] = [];
    for (const recipient of this.recipients(rule)) {
      const reference = await this.mailbox.put(tx, { recipient, ...mail, goodForSeconds: GOOD_FOR_SECONDS });
      sent.push({ channel: 'email', reference });
    }
    const deliveries = await this.events.announce(tx, message, rule.webhooks);
    return [...sent, ...deliveries.map((reference): Sent => ({ channel: 'webhook', reference }))];
  }

  /** Records the emails and webhook deliveries of a notification. */
  async log(
    tx: EntityManager,
    alert: { id: string; count: number },
    reason: NotificationReason,
    sent: readonly Sent[],
  ): Promise<void> {
    if (sent.length === 0) return;
    const { id: alertId, count } = alert;
    await tx.insert(
      AlertNotification,
      sent.map((one) => ({ id: newId(), alertId, count, reason, ...one })),
    );
  }

  private recipients({ emails }: AlertRule): string[] {
    if (!this.config.alertEmailEnabled) return [];
    return emails.length > 0 ? emails : this.config.alertEmailTo;
  }
}
