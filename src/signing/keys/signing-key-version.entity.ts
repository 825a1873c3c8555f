import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import type { KeyEvidence } from '../../hsm/key-vault.js';

/** One key pair in the token. */
@Entity('signing_key_version')
export class SigningKeyVersion {
  @PrimaryColumn('uuid')
  keyId: string;

  @PrimaryColumn('int')
  version: number;

  /** CKA_ID: finds the pair in the token. */
  @Unique('signing_key_version_cka_id', ['ckaId'])
  @Column('bytea')
  ckaId: Buffer;

  /** SubjectPublicKeyInfo, DER. Every signature is checked against it. Null until the token has made the pair. */
  @Column('bytea', { nullable: true })
  publicKey: Buffer | null;

  /** The attributes of the private key as the token told them when it was made. */
  @Column('jsonb', { nullable: true })
  evidence: KeyEvidence | null;

  /** When the making of it was given up. */
  @Column('timestamptz', { nullable: true })
  failedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
