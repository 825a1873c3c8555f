import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { EventAnnouncer } from '../../events/event-announcer.service.js';
import { Config } from '../../platform/config/config.js';
import { Alert, type NotificationReason } from '../model/alert.entity.js';
import { lockDue, whenDue } from '../../platform/work/claim.js';
import { Background } from '../../platform/work/background.js';
import { AlertRule, isActive } from '../model/alert-rule.entity.js';
import { AlertChannels } from './alert-channels.js';
import { alertMessage, certificateAnnouncement } from './alert-message.js';

const BATCH_SIZE = 20;
const DUE = { table: 'alert', where: 'notify_at <= now()', order: 'notify_at' };

/** Sends due alert notifications. A notification is committed together with its emails and webhook messages. */
@Injectable()
export class AlertNotifier {
  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly channels: AlertChannels,
    private readonly events: EventAnnouncer,
  ) {}

  /** Sends a batch of due notifications. @returns whether any notification was due */
  @Background({ name: 'alert-notifications', scope: 'process', due: DUE, wakes: ['mail', 'webhooks'] })
  async notify(): Promise<boolean> {
    const notified = await whenDue(this.db, DUE, async (tx) => {
      const due = await lockDue<Pick<Alert, 'id'>>(tx, {
        ...DUE,
        limit: BATCH_SIZE,
      });
      if (due.length === 0) return false;
      const alerts = await tx.findBy(Alert, { id: In(due.map(({ id }) => id)) });
      const rules = await tx.findBy(AlertRule, { id: In(alerts.map(({ ruleId }) => ruleId)) });
      for (const alert of alerts) {
        const rule = rules.find(({ id }) => id === alert.ruleId);
        await this.settle(tx, alert, rule);
      }
      return true;
    });
    return notified ?? false;
  }

  private async settle(tx: EntityManager, alert: Alert, rule: AlertRule | undefined): Promise<void> {
    const reason = rule !== undefined && isActive(rule) ? reasonOf(alert) : undefined;
    if (rule === undefined || reason === undefined) {
      await tx.query(`UPDATE alert SET notify_at = NULL WHERE id = $1`, [alert.id]);
      return;
    }
    const muted = Math.max(alert.mutedUntil?.getTime() ?? 0, rule.mutedUntil?.getTime() ?? 0);
    if (muted > Date.now()) {
      await tx.query(`UPDATE alert SET notify_at = $2 WHERE id = $1`, [alert.id, new Date(muted)]);
      return;
    }
    const message = alertMessage(alert, rule, reason, this.config.publicUrl);
    await this.channels.log(tx, alert, reason, await this.channels.put(tx, rule, message));
    const isNews = reason === 'opened' || reason === 'reopened';
    if (isNews && rule.condition === 'certificate-expiring')
      await this.events.announce(tx, certificateAnnouncement(alert, rule, message));
    await tx.query(
      `UPDATE alert SET notify_at = NULL, notified_at = now(), notified_count = count, notified_status = status WHERE id = $1`,
      [alert.id],
    );
  }
}

/** Returns the reason for a notification, or undefined if no notification is sent because the alert has been acknowledged or resolved. */
function reasonOf({ status, resolvedBy, notifiedAt, notifiedStatus }: Alert): NotificationReason | undefined {
  if (status === 'ACKNOWLEDGED') return undefined;
  if (status === 'RESOLVED') {
    const nobodyKnows = notifiedAt === null || notifiedStatus === 'RESOLVED' || resolvedBy !== null;
    return nobodyKnows ? undefined : 'resolved';
  }
  if (notifiedAt === null) return 'opened';
  return status === 'REOPENED' && notifiedStatus !== 'REOPENED' ? 'reopened' : 'again';
}
