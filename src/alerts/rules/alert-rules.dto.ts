import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsEmail, IsOptional, IsUUID } from 'class-validator';
import { Flag, Int, Moment, Name, Nested, OneOf, Optional } from '../../platform/http/fields/fields.js';
import { Nullable } from '../../platform/http/body-shape.js';
import { ALERT_CONDITIONS, type AlertConditionName, RISK_LEVELS, type RiskLevel } from '../model/alert-condition.js';
import type { Sent } from '../notices/alert-channels.js';
import type { NotificationChannel } from '../model/alert.entity.js';
import {
  type AlertRule,
  isActive,
  type Grouping,
  GROUPINGS,
  SEVERITIES,
  type Severity,
} from '../model/alert-rule.entity.js';
import type { AlertRuleChange, AlertRuleOrder } from './alert-rules.service.js';

const EMAILS = { type: String, isArray: true, example: ['crypto-team@corp.example'], required: false } as const;
const WEBHOOKS = {
  type: String,
  isArray: true,
  example: ['01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'],
  required: false,
} as const;

export class RuleParametersBody {
  /** For `risk-threshold`: the lowest risk level that matches. */
  @Optional(OneOf(RISK_LEVELS, { example: 'HIGH' })) level?: RiskLevel;
  /** For `certificate-expiring`: number of days before expiry. @example 30 */
  @Optional(Int(1, 365)) days?: number;
}

export class CreateAlertRuleBody {
  /** Unique name of the alert rule. @example 'certificates of the web team' */
  @Name(1, 100) name: string;
  /** The event or state for which the rule opens alerts. */
  @OneOf(ALERT_CONDITIONS, { example: 'certificate-expiring' }) condition: AlertConditionName;
  @Optional(Nested(RuleParametersBody, { example: { days: 30 } })) parameters?: RuleParametersBody;
  @Optional(OneOf(SEVERITIES, { example: 'warning' })) severity?: Severity;
  /** `subject`: one alert per affected object; `rule`: one alert for all affected objects. */
  @Optional(OneOf(GROUPINGS, { example: 'subject' })) grouping?: Grouping;
  /** Minimum time between two notifications of an alert, in minutes. @example 60 */
  @Optional(Int(0, 10_080)) coolDownMinutes?: number;
  /** Email recipients. Defaults to SVC_ALERT_EMAIL_TO. */
  @ApiProperty(EMAILS) @IsOptional() @IsEmail({}, { each: true }) @ArrayMaxSize(20) @ArrayUnique() emails?: string[];
  /** Webhook endpoints that are notified in addition to the endpoints that subscribe to `alert.*`. */
  @ApiProperty(WEBHOOKS)
  @IsOptional()
  @IsUUID('all', { each: true })
  @ArrayMaxSize(20)
  @ArrayUnique()
  webhooks?: string[];

  toOrder(): AlertRuleOrder {
    const { name, condition, severity = 'warning', grouping = 'subject', coolDownMinutes = 60 } = this;
    const { emails = [], webhooks = [] } = this;
    return {
      name,
      condition,
      parameters: plain(this.parameters),
      severity,
      grouping,
      coolDownMinutes,
      emails,
      webhooks,
    };
  }
}

/** Omitted fields remain unchanged. */
export class ChangeAlertRuleBody extends PartialType(OmitType(CreateAlertRuleBody, ['condition', 'toOrder'])) {
  /** Whether the rule is enabled. @example true */
  @Optional(Flag()) enabled?: boolean;
  /** Time until which no notifications are sent; null unmutes the rule. */
  @Optional(Moment({ nullable: true, example: '2026-12-01T08:00:00Z' })) @Nullable() mutedUntil?: Date | null;

  toChange(): AlertRuleChange {
    const { parameters, ...others } = this;
    const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
    return { ...given, ...(parameters === undefined ? {} : { parameters: plain(parameters) }) };
  }
}

export class AlertRuleView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'certificates of the web team' */
  name: string;
  @ApiProperty({ enum: ALERT_CONDITIONS, example: 'certificate-expiring' }) condition: AlertConditionName;
  @ApiProperty({ type: RuleParametersBody, example: { days: 30 } }) parameters: RuleParametersBody;
  @ApiProperty({ enum: SEVERITIES, example: 'warning' }) severity: Severity;
  @ApiProperty({ enum: GROUPINGS, example: 'subject' }) grouping: Grouping;
  /** @example 60 */
  coolDownMinutes: number;
  @ApiProperty(EMAILS) emails: string[];
  @ApiProperty(WEBHOOKS) webhooks: string[];
  /** @example true */
  enabled: boolean;
  mutedUntil: Date | null;
  /** Version of the rule. The ETag is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;

  static of(rule: AlertRule): AlertRuleView {
    const { id, name, condition, parameters, severity, grouping, coolDownMinutes } = rule;
    const { emails, webhooks, mutedUntil, version, createdAt } = rule;
    const kind = { id, name, condition, parameters, severity, grouping, coolDownMinutes };
    return { ...kind, emails, webhooks, enabled: isActive(rule), mutedUntil, version, createdAt };
  }
}

export class AlertRuleList {
  items: AlertRuleView[];
}

export class SentView {
  @ApiProperty({ enum: ['email', 'webhook'], example: 'email' }) channel: NotificationChannel;
  /** ID of the email or of the webhook delivery. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  reference: string;
}

export class SentList {
  items: SentView[];

  static of(sent: Sent[]): SentList {
    return { items: sent };
  }
}

function plain({ level, days }: RuleParametersBody = {}): AlertRule['parameters'] {
  return { ...(level === undefined ? {} : { level }), ...(days === undefined ? {} : { days }) };
}
