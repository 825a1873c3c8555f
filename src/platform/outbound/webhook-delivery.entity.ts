import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type WebhookDeliveryStatus = 'PENDING' | 'DELIVERED' | 'GIVEN_UP';

/** One try: what the target answered, or why nothing came. */
export interface WebhookAttempt {
  readonly attempt: number;
  /** RFC 3339. */
  readonly at: string;
  readonly milliseconds: number;
  /** HTTP status, if there was a response. */
  readonly status?: number;
  readonly failure?: string;
}

/** A message for one endpoint: the row is the intent, it waits here however long the receiver is away. */
@Entity('webhook_delivery')
@Index('webhook_delivery_waiting', ['endpointId', 'nextTryAt'], { where: "status = 'PENDING'" })
@Index('webhook_delivery_ended', ['endedAt'], { where: "status <> 'PENDING'" })
@Index('webhook_delivery_of_endpoint', ['endpointId', 'id'])
export class WebhookDelivery {
  /** Also the `webhook-id` of every attempt. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  endpointId: string;

  @Column('text')
  type: string;

  /** Body, byte for byte. */
  @Column('text')
  body: string;

  @Column('text', { default: 'PENDING' })
  status: WebhookDeliveryStatus;

  /** The fence. It only grows, so the outcome of an attempt that was overtaken is not stored. */
  @Column('int', { default: 0 })
  attempts: number;

  /** Attempts since it was last put in line: where in the schedule of pauses it is. */
  @Column('int', { default: 0 })
  tries: number;

  @Column('timestamptz', { default: () => 'now()' })
  nextTryAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  /** The last twenty attempts. */
  @Column('jsonb', { default: [] })
  log: WebhookAttempt[];
}
