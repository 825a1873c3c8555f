import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Which resource an Idempotency-Key made; committed together with that resource. */
@Entity('idempotency_key')
export class IdempotencyKey {
  /** Caller that sent it: keys of different callers are independent. */
  @PrimaryColumn('text')
  principal: string;

  @PrimaryColumn('text')
  operation: string;

  @PrimaryColumn('text')
  key: string;

  /** SHA-256 of the body. */
  @Column('bytea')
  fingerprint: Buffer;

  @Column('uuid')
  resource: string;

  @Index('idempotency_key_created_at')
  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
