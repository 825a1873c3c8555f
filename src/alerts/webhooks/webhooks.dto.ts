import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsOptional, Matches } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { Flag, Int, Name, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { PageQuery } from '../../platform/http/page.js';
import {
  WEBHOOK_DELIVERY_STATUSES,
  type WebhookDelivery,
  type WebhookDeliveryStatus,
} from '../../notifications/webhooks/webhook-delivery.entity.js';
import {
  WEBHOOK_FORMATS,
  type WebhookEndpoint,
  type WebhookFormat,
} from '../../notifications/webhooks/webhook-endpoint.entity.js';
import {
  EVENT_CATALOGUE,
  EVENT_NAMES,
  EVENT_SUBSCRIPTIONS,
  type EventName,
  isEventName,
  withoutEffect,
} from '../../events/catalogue/event-catalogue.js';
import type { WebhookEndpointOrder } from './webhook-endpoints.service.js';

const EVENT = /^(\*|[a-z-]{1,30}\.(\*|[a-z-]{1,30}))$/;
const EVENTS = { example: ['signing-request.*', 'approval.requested'], isArray: true, type: String } as const;
const KNOWN_EVENTS = { example: EVENTS.example, isArray: true, enum: EVENT_SUBSCRIPTIONS };

export class CreateWebhookBody {
  /** Unique name that describes the purpose of the endpoint. @example 'incident desk' */
  @Name(1, 100) name: string;
  /**
   * URL to which messages are sent. Must use HTTPS and a public host, unless the operator allows other addresses.
   * @example https://desk.example/hooks/sealwright
   */
  @Text(0, 2000) url: string;
  /** Format of the messages. `standard` is signed JSON (Standard Webhooks). */
  @Optional(OneOf(WEBHOOK_FORMATS, { default: 'standard', example: 'standard' })) format?: WebhookFormat;
  /**
   * Subscribed events: a single event (`approval.requested`), all events of an area (`approval.*`) or all events (`*`). The endpoint receives only events that
   * you have permission to receive. Alert rules can also send to an endpoint without subscriptions. Unknown events are rejected with 422.
   */
  @ApiProperty({ ...KNOWN_EVENTS, required: false })
  @IsOptional()
  @Matches(EVENT, { each: true })
  @ArrayMaxSize(100)
  @ArrayUnique()
  events?: string[];

  toOrder(): WebhookEndpointOrder {
    const { name, url, format = 'standard', events = [] } = this;
    return { name, url, format, events };
  }
}

/** Omitted fields remain unchanged. */
export class ChangeWebhookBody extends PartialType(OmitType(CreateWebhookBody, ['format', 'toOrder'])) {
  /** Whether the endpoint is enabled. Disabling the endpoint discards its pending messages. @example true */
  @Optional(Flag()) enabled?: boolean;
}

export class RotateWebhookSecretBody {
  /** Hours for which messages are also signed with the old secret. @example 24 */
  @Optional(Int(0, 168)) overlapHours?: number;
}

export class TestWebhookBody {
  /** Event type of the example to send, with `"test": true`. If omitted, a `webhook.test` message is sent. */
  @Optional(OneOf(EVENT_NAMES, { example: 'signing-request.signed' })) type?: EventName;
}

export class WebhookView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'incident desk' */
  name: string;
  /** URL of the endpoint, without parts that may be secret. @example https://desk.example/hooks/sealwright */
  url: string;
  @ApiProperty({ enum: WEBHOOK_FORMATS, example: 'standard' }) format: WebhookFormat;
  @ApiProperty(EVENTS) events: string[];
  /** Stored subscriptions that match no existing event. @example [] */
  eventsWithoutEffect: string[];
  /**
   * ID of the person whose permissions limit the events: the person behind the call that last set the URL or the events. Null for endpoints created by earlier
   * versions. Until such an endpoint is changed, the endpoint receives only events about alerts, approvals and hosts.
   * @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12
   */
  ownerId: string | null;
  /** @example true */
  enabled: boolean;
  /**
   * Reason why the service disabled the endpoint; null if the endpoint is enabled or a user disabled it.
   * @example 'The receiver responded with 410 Gone.'
   */
  disabledReason: string | null;
  /** Version of the endpoint. The ETag is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;

  static of(row: WebhookEndpoint): WebhookView {
    const { shownUrl: url, events } = row;
    const eventsWithoutEffect = withoutEffect(events);
    return viewOf(WebhookView, row, { url, eventsWithoutEffect });
  }
}

export class NewWebhookView extends WebhookView {
  /**
   * Secret for verifying signatures. The secret cannot be retrieved again. Not present for Slack and Teams.
   * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=
   */
  secret?: string;

  static withSecret(row: WebhookEndpoint, secret?: string): NewWebhookView {
    return Object.assign(WebhookView.of(row), secret === undefined ? {} : { secret });
  }
}

export class WebhookList {
  items: WebhookView[];
}

export class WebhookAttemptView {
  /** @example 1 */
  attempt: number;
  at: Date;
  /** @example 84 */
  milliseconds: number;
  /** HTTP status, if there was a response. @example 503 */
  status?: number;
  /** @example 'the receiver responded with 503' */
  failure?: string;
}

export class WebhookDeliveriesQuery extends PageQuery {
  @Optional(OneOf(WEBHOOK_DELIVERY_STATUSES)) status?: WebhookDeliveryStatus;
}

export class WebhookDeliveryView {
  /** ID of the delivery, sent as `webhook-id` with every attempt. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example alert.opened */
  type: string;
  @ApiProperty({ enum: WEBHOOK_DELIVERY_STATUSES, example: 'DELIVERED' }) status: WebhookDeliveryStatus;
  /** @example 1 */
  attempts: number;
  /** Time of the next attempt; null if the delivery has ended. */
  nextTryAt: Date | null;
  createdAt: Date;
  endedAt: Date | null;
  /**
   * Body of the message; empty for events that not every reader of the delivery log may see, such as events about approvals and signing requests.
   * @example '{"type":"alert.opened","timestamp":"2026-11-20T14:00:00.000Z","data":{}}'
   */
  body: string;
  /** The last twenty attempts. */
  log: WebhookAttemptView[];

  static of(row: WebhookDelivery): WebhookDeliveryView {
    const { type, status, nextTryAt, log, body } = row;
    return viewOf(WebhookDeliveryView, row, {
      body: isEventName(type) && !EVENT_CATALOGUE[type].isShownInLog ? '' : body,
      nextTryAt: status === 'PENDING' ? nextTryAt : null,
      log: log.map((entry) => ({ ...entry, at: new Date(entry.at) })),
    });
  }
}

export class WebhookDeliveryPage extends PageOf(WebhookDeliveryView) {}
