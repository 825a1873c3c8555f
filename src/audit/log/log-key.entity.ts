import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key that signs checkpoints. Its row is there before the HSM makes it; without a public key it was never made. */
@Entity('log_key')
export class LogKey {
  @PrimaryColumn('uuid')
  id: string;

  @Column('bytea')
  ckaId: Buffer;

  /** Name of the log in every checkpoint, for good: `host:port/log` of SVC_PUBLIC_URL when the key was made. */
  @Column('text')
  origin: string;

  /** SubjectPublicKeyInfo, DER. */
  @Column('bytea', { nullable: true })
  publicKey: Buffer | null;

  /** What the token says of the key (KeyEvidence). */
  @Column('jsonb', { nullable: true })
  evidence: object | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
