import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** `standard` is signed JSON (Standard Webhooks); the others are what those products read, behind an address that is a secret itself. */
export const WEBHOOK_FORMATS = ['standard', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** A receiver of webhook messages: its address and the events that it wants. */
@Entity('webhook_endpoint')
export class WebhookEndpoint {
  @PrimaryColumn('uuid')
  id: string;

  @Index('webhook_endpoint_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  format: WebhookFormat;

  /** The target as far as it may be shown: without query, and for Slack and Teams without path. */
  @Column('text')
  shownUrl: string;

  /** The target, sealed: in many products it is all that a sender must know. */
  @Column('bytea')
  url: Buffer;

  /** Sealed; null where the format knows no signature. */
  @Column('bytea', { nullable: true })
  secret: Buffer | null;

  /** Types of what it hears, `approval.requested`, or all of an area, `approval.*`. */
  @Column('text', { array: true })
  events: string[];

  @Column('boolean', { default: true })
  enabled: boolean;

  /** The reason for which the service disabled the endpoint; absent if a user did. */
  @Column('text', { nullable: true })
  disabledReason: string | null;

  /** Goes up with each change that people make. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** A secret that was replaced. It signs too, until then, so that receivers can change over. */
@Entity('webhook_old_secret')
export class WebhookOldSecret {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_old_secret_id' })
  id: string;

  @Index('webhook_old_secret_endpoint')
  @Column('uuid')
  endpointId: string;

  /** Sealed. */
  @Column('bytea')
  secret: Buffer;

  @Column('timestamptz')
  until: Date;
}
