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

  /** The private key, sealed by a key of the token, for types that the token does not have; else null: the token holds it. */
  @Column('bytea', { nullable: true })
  sealed: Buffer | null;

  /** The attributes of the private key as the token told them when it was made. */
  @Column('jsonb', { nullable: true })
  evidence: KeyEvidence | null;

  /** When the making of it was given up. */
  @Column('timestamptz', { nullable: true })
  failedAt: Date | null;

  /** When the private key was destroyed. Public key, evidence and certificates stay: what it signed still verifies. */
  @Column('timestamptz', { nullable: true })
  destroyedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** CKA_LABEL of both halves of the pair in the token. */
export function tokenLabelOf(keyName: string, version: number): string {
  return `sealwright ${keyName} v${version}`;
}
