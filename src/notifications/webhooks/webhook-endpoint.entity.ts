import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** `standard` is signed JSON (Standard Webhooks). `slack` and `teams` are the formats of these products, whose webhook URLs are secret. */
export const WEBHOOK_FORMATS = ['standard', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** WebhookEndpoint is a receiver of webhook messages, with its URL and subscribed events. */
@Entity('webhook_endpoint')
export class WebhookEndpoint {
  @PrimaryColumn('uuid')
  id: string;

  @Index('webhook_endpoint_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  format: WebhookFormat;

  /** Part of the URL that may be displayed: without the query and, for Slack and Teams, without the path. */
  @Column('text')
  shownUrl: string;

  /** Sealed URL. For many services, anyone who knows the URL can send messages. */
  @Column('bytea')
  url: Buffer;

  /** Sealed signing secret; null if the format has no signatures. */
  @Column('bytea', { nullable: true })
  secret: Buffer | null;

  /** Subscribed event types, such as `approval.requested`, and areas, such as `approval.*`. */
  @Column('text', { array: true })
  events: string[];

  @Column('boolean', { default: true })
  enabled: boolean;

  /** Reason why the service disabled the endpoint; null if the service did not disable the endpoint. */
  @Column('text', { nullable: true })
  disabledReason: string | null;

  /**
   * IDs of the people, keys and clients whose rights limit the events: everyone behind the call that last set the URL or the events. Null in rows of earlier
   * versions.
   */
  @Column('text', { array: true, nullable: true })
  givers: string[] | null;

  /**
   * ID of the person who owns the endpoint, which may receive events about this person's resources. Empty if the owner is a workload, null in rows of earlier
   * versions.
   */
  @Column('text', { nullable: true })
  ownerId: string | null;

  /** Time of the last change of the owner; null if the owner has not changed. Earlier messages are not sent to the new owner. */
  @Column('timestamptz', { nullable: true })
  ownedSince: Date | null;

  /** Index of the first leaf in the audit log whose event has not been queued. Null if the endpoint subscribes to no events derived from the log. */
  @Column('bigint', { nullable: true })
  feedPosition: string | null;

  /** Incremented with each change. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/**
 * WebhookOldSecret is a rotated signing secret. Until `until`, messages are also signed with the old secret, so that receivers can switch to the new secret.
 */
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
