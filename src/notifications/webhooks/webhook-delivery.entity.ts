import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const WEBHOOK_DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'GIVEN_UP'] as const;
export type WebhookDeliveryStatus = (typeof WEBHOOK_DELIVERY_STATUSES)[number];

/** WebhookAttempt is one delivery attempt: the target's response, or the reason for the failure. */
export interface WebhookAttempt {
  readonly attempt: number;
  /** RFC 3339. */
  readonly at: string;
  readonly milliseconds: number;
  /** HTTP status, if there was a response. */
  readonly status?: number;
  readonly failure?: string;
}

/** WebhookDelivery is a message for one endpoint in the outbox. The message remains queued until the receiver accepts the message. */
@Entity('webhook_delivery')
@Index('webhook_delivery_waiting', ['endpointId', 'nextTryAt'], { where: "status = 'PENDING'" })
@Index('webhook_delivery_ended', ['endedAt'], { where: "status <> 'PENDING'" })
@Index('webhook_delivery_of_endpoint', ['endpointId', 'id'])
@Index('webhook_delivery_of_subject', ['endpointId', 'subject'], {
  where: "status = 'PENDING' AND subject IS NOT NULL",
})
@Index('webhook_delivery_given_up', ['endpointId', 'id'], { where: "status = 'GIVEN_UP'" })
export class WebhookDelivery {
  /** ID of the delivery, sent as `webhook-id` with every attempt. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  endpointId: string;

  @Column('text')
  type: string;

  /** Request body, verbatim. */
  @Column('text')
  body: string;

  /** Subject of the message, as `kind:id`. Messages about the same subject are delivered in order. Null for tests, and in rows of earlier versions. */
  @Column('text', { nullable: true })
  subject: string | null;

  /** Index of the event's leaf in the audit log, which orders messages about the same subject. Null if the message was queued together with its event. */
  @Column('bigint', { nullable: true })
  position: string | null;

  @Column('text', { default: 'PENDING' })
  status: WebhookDeliveryStatus;

  /** Number of attempts. The number only increases and serves as a fencing token: the outcome of an outdated attempt is not stored. */
  @Column('int', { default: 0 })
  attempts: number;

  /** Number of attempts since the delivery was last queued, which determines the next pause. */
  @Column('int', { default: 0 })
  tries: number;

  @Column('timestamptz', { default: () => 'now()' })
  nextTryAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  /** Last twenty attempts. */
  @Column('jsonb', { default: [] })
  log: WebhookAttempt[];
}
