import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A PIN that the token refused: no other process tries it. */
@Entity('hsm_refused_pin')
export class RefusedPin {
  /** HMAC-SHA-256 over the label of the token and the PIN. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'hsm_refused_pin_fingerprint' })
  fingerprint: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
