import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** One link in the chain of refresh tokens of a session. A token that is shown a second time was stolen from somebody. */
@Entity('refresh_token')
@Index('refresh_token_session', ['sessionId'])
export class RefreshToken {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  sessionId: string;

  /** SHA-256 of the token. */
  @Index('refresh_token_hash', { unique: true })
  @Column('bytea')
  hash: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}
