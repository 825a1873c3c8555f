import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What a passkey of a person is asked to sign; good once and for some minutes. */
@Entity('passkey_challenge')
export class PasskeyChallenge {
  /** SHA-256 of the challenge as it is sent (base64url). */
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
