import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, type Page } from '../platform/http/cursors.js';
import type { PageQuery } from '../platform/http/page.js';
import { missing } from '../platform/errors/problem.js';
import { type AlertStatus, Alert, type NotificationChannel, type NotificationReason } from './model/alert.entity.js';

export interface AlertFilter extends PageQuery {
  readonly status?: AlertStatus;
  readonly rule?: string;
  readonly owner?: string;
}

/** A notification with its delivery status. */
export interface NotificationLine {
  readonly id: string;
  readonly at: Date;
  readonly reason: NotificationReason;
  readonly count: number;
  readonly channel: NotificationChannel;
  readonly reference: string;
  readonly recipient: string;
  /** FORGOTTEN if the outcome is no longer stored. */
  readonly status: 'PENDING' | 'DELIVERED' | 'GIVEN_UP' | 'FORGOTTEN';
  readonly attempts: number;
  readonly failure: string | null;
  readonly endedAt: Date | null;
}

const MAX_NOTIFICATIONS = 200;

@Injectable()
export class AlertsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  /** Returns alerts, newest first. */
  async list({ limit, cursor, status, rule, owner }: AlertFilter): Promise<Page<Alert>> {
    const list = `alerts ${status ?? ''} ${rule ?? ''} ${owner ?? ''}`;
    const select = this.db.createQueryBuilder(Alert, 'alert');
    if (status !== undefined) select.andWhere('alert.status = :status', { status });
    if (rule !== undefined) select.andWhere('alert.ruleId = :rule', { rule });
    if (owner !== undefined) select.andWhere('alert.ownerId = :owner', { owner });
    return this.cursors.newest(list, select, { limit, cursor });
  }

  async get(id: string): Promise<Alert> {
    const alert = await this.db.manager.findOneBy(Alert, { id });
    if (alert === null) throw missing('alert');
    return alert;
  }

  /** Returns the notifications of an alert, newest first, with the delivery status of each email and webhook message. */
  async notifications(alert: string): Promise<NotificationLine[]> {
    return this.db.query(
      `SELECT n.id, n.at, n.reason, n.count, n.channel, n.reference,
         coalesce(m.recipient, e.name, CASE WHEN d.id IS NULL THEN 'forgotten' ELSE 'removed' END) AS recipient,
         CASE WHEN d.id IS NOT NULL THEN d.status WHEN m.id IS NULL THEN 'FORGOTTEN' WHEN m.sent_at IS NOT NULL THEN 'DELIVERED'
           WHEN m.given_up_at IS NOT NULL THEN 'GIVEN_UP' ELSE 'PENDING' END AS status,
         coalesce(d.attempts, m.attempts, 0) AS attempts,
         coalesce(m.failure, d.log -> -1 ->> 'failure') AS failure,
         coalesce(d.ended_at, m.sent_at, m.given_up_at) AS "endedAt"
       FROM alert_notification n
       LEFT JOIN mail_message m ON n.channel = 'email' AND m.id = n.reference
       LEFT JOIN webhook_delivery d ON n.channel = 'webhook' AND d.id = n.reference
       LEFT JOIN webhook_endpoint e ON e.id = d.endpoint_id
       WHERE n.alert_id = $1 ORDER BY n.id DESC LIMIT ${MAX_NOTIFICATIONS}`,
      [alert],
    );
  }
}
