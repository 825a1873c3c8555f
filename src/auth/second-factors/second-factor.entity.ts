import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An authenticator app of a person (TOTP, RFC 6238), or a passkey (WebAuthn). It counts from when a first answer proved it. */
@Entity('second_factor')
@Index('second_factor_user', ['userId'])
export class SecondFactor {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text', { default: 'totp' })
  kind: 'totp' | 'passkey';

  /** What the person calls it. */
  @Column('text')
  name: string;

  /** The shared secret of an app, sealed. */
  @Column('bytea', { nullable: true })
  seed: Buffer | null;

  @Index('second_factor_credential', { unique: true })
  @Column('bytea', { nullable: true })
  credentialId: Buffer | null;

  /** COSE key of a passkey (RFC 9052 section 7). */
  @Column('bytea', { nullable: true })
  publicKey: Buffer | null;

  /** How the browser reaches the passkey: internal, usb, nfc … */
  @Column('text', { array: true, default: '{}' })
  transports: string[];

  /** Time step of the last code that was taken, or signature counter of a passkey: what came before does not count again. */
  @Column('bigint', { default: 0 })
  lastStep: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;
}
