import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

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
