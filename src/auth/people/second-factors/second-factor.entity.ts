import { Sealed, SealedEntity } from '../../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A person's authenticator app (TOTP, RFC 6238) or passkey (WebAuthn). The factor becomes active when the first code or response confirms it. */
@Entity('second_factor')
@Index('second_factor_user', ['userId'])
@Sealed<SecondFactor>({
  // The HSM encrypts the seed and binds it to its row. `lastStep` changes with every use, and only prevents replays.
  except: ['name', 'seed', 'lastStep', 'createdAt', 'lastUsedAt'],
  while: 't.confirmed_at IS NOT NULL',
})
export class SecondFactor extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text', { default: 'totp' })
  kind: 'totp' | 'passkey';

  /** Name that the person chose for the factor. */
  @Column('text')
  name: string;

  /** The shared secret of an authenticator app, sealed. */
  @Column('bytea', { nullable: true })
  seed: Buffer | null;

  @Index('second_factor_credential', { unique: true })
  @Column('bytea', { nullable: true })
  credentialId: Buffer | null;

  /** COSE key of a passkey (RFC 9052 section 7). */
  @Column('bytea', { nullable: true })
  publicKey: Buffer | null;

  /** WebAuthn transports of the passkey: internal, usb, nfc … */
  @Column('text', { array: true, default: '{}' })
  transports: string[];

  /** Time step of the last accepted code, or signature counter of a passkey; earlier values are rejected as replays. */
  @Column('bigint', { default: 0 })
  lastStep: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;
}

/** A WebAuthn challenge for a person's passkey; valid once, for a few minutes. */
@Entity('passkey_challenge')
export class PasskeyChallenge {
  /** SHA-256 of the challenge as sent (base64url). */
  @PrimaryColumn('bytea')
  hash: Buffer;

  @Column('uuid')
  userId: string;

  @Column('text')
  purpose: 'registration' | 'sign-in';

  @Index('passkey_challenge_expires')
  @Column('timestamptz')
  expiresAt: Date;
}

/** A single-use code that replaces a lost authenticator. */
@Entity('recovery_code')
@Sealed<RecoveryCode>({
  except: [],
  while: 't.used_at IS NULL',
})
export class RecoveryCode extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Index('recovery_code_user')
  @Column('uuid')
  userId: string;

  /** SHA-256 of the code, because 80 random bits do not need a slow hash. */
  @Column('bytea')
  hash: Buffer;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}
