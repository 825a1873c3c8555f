import { ApiProperty } from '@nestjs/swagger';
import { IdRef, Moment, OneOf, Optional, Text } from '../platform/http/fields/fields.js';
import { PageOf } from '../platform/http/fields/page-of.js';
import { Nullable } from '../platform/http/body-shape.js';
import { PageQuery } from '../platform/http/page.js';
import {
  ALERT_STATUSES,
  type AlertStatus,
  type Alert,
  type NotificationChannel,
  type NotificationReason,
} from './model/alert.entity.js';
import type { AlertChange } from './alerts.service.js';
import type { NotificationLine } from './alerts.reader.js';
import { SEVERITIES, type Severity } from './model/alert-rule.entity.js';
import type { AlertFacts } from '../platform/events/alert-events.js';
import { shownFacts } from './model/alert-facts.js';

const REASONS = ['opened', 'again', 'reopened', 'resolved', 'asked'] as const;

export class AlertsQuery extends PageQuery {
  /** Only alerts with this status. */
  @Optional(OneOf(ALERT_STATUSES, { example: 'OPEN' })) status?: AlertStatus;
  /** Only alerts that this rule opened. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) rule?: string;
  /** Only alerts owned by this user. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) owner?: string;
}

export class AlertCommentBody {
  /** Comment for the audit log. @example 'renewed, rolling out tonight' */
  @Optional(Text(0, 1000)) comment?: string;
}

export class ChangeAlertBody {
  /** ID of the user who owns the alert; null removes the owner. */
  @Optional(IdRef({ nullable: true, example: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' }))
  @Nullable()
  ownerId?: string | null;
  /** Time until which no notifications are sent; null unmutes the alert. */
  @Optional(Moment({ nullable: true, example: '2026-12-01T08:00:00Z' })) @Nullable() mutedUntil?: Date | null;

  toChange(): AlertChange {
    return Object.fromEntries(Object.entries(this).filter(([, value]) => value !== undefined));
  }
}

export class AlertSubjectView {
  /** @example sensor */
  kind: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'data centre east' */
  name: string;
}

export class AlertView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  ruleId: string;
  @ApiProperty({ enum: ALERT_STATUSES, example: 'OPEN' }) status: AlertStatus;
  @ApiProperty({ enum: SEVERITIES, example: 'warning' }) severity: Severity;
  /** @example 'A sensor has stopped reporting: data centre east' */
  title: string;
  /** Subject of the last event. */
  subject: AlertSubjectView;
  /**
   * Facts of the last event, starting with `where` and `why`. `NONE` to `CRITICAL` contain the number of assets at each risk level; `examples` lists names of
   * assets.
   */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { why: 'The last heartbeat was at 2026-11-20T14:00:00Z. Heartbeats are expected every 60 seconds.' },
  })
  facts: AlertFacts;
  /** Number of events. @example 1 */
  count: number;
  firstAt: Date;
  lastAt: Date;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  ownerId: string | null;
  mutedUntil: Date | null;
  resolvedAt: Date | null;
  /** Name of the user who resolved the alert; null if the alert resolved automatically. @example 'Ada Lovelace' */
  resolvedBy: string | null;
  notifiedAt: Date | null;
  /** Version of the alert. The ETag is this value in double quotes. @example 1 */
  version: number;

  static of(alert: Alert): AlertView {
    const { id, ruleId, status, severity, title, count, firstAt, lastAt } = alert;
    const facts = shownFacts(alert.facts);
    const { ownerId, mutedUntil, resolvedAt, resolvedBy, notifiedAt, version } = alert;
    const subject = { kind: alert.subjectKind, id: alert.subjectId, name: alert.subjectName };
    const what = { id, ruleId, status, severity, title, subject, facts, count, firstAt, lastAt };
    return { ...what, ownerId, mutedUntil, resolvedAt, resolvedBy, notifiedAt, version };
  }
}

export class AlertPage extends PageOf(AlertView) {}

export class NotificationView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  at: Date;
  @ApiProperty({ enum: REASONS, example: 'opened' }) reason: NotificationReason;
  /** Number of occurrences at the time of the notification. @example 1000 */
  count: number;
  @ApiProperty({ enum: ['email', 'webhook'], example: 'email' }) channel: NotificationChannel;
  /** ID of the email or of the webhook delivery. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  reference: string;
  /** Email address, or name of the webhook endpoint; `removed` or `forgotten` if the recipient is no longer stored. @example crypto-team@corp.example */
  recipient: string;
  /** Delivery status. FORGOTTEN if the status is no longer stored: after 90 days for emails, and after 30 days for webhooks. */
  @ApiProperty({ enum: ['PENDING', 'DELIVERED', 'GIVEN_UP', 'FORGOTTEN'], example: 'DELIVERED' })
  status: NotificationLine['status'];
  /** @example 1 */
  attempts: number;
  /** Reason why the last attempt failed. @example 'connect ECONNREFUSED' */
  failure: string | null;
  endedAt: Date | null;
}

export class NotificationList {
  items: NotificationView[];
}
