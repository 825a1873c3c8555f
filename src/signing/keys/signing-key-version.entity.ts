import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import { type KeyEvidence, type KeyIdentity, signingKeyOwner } from '../../hsm/key-vault.js';
import type { KeyPurpose } from './signing-key.entity.js';

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

  /** The attributes of the private key as the token reported them when it was made. */
  @Column('jsonb', { nullable: true })
  evidence: KeyEvidence | null;

  /** When its creation was given up. */
  @Column('timestamptz', { nullable: true })
  failedAt: Date | null;

  /** When the private key was destroyed. Public key, evidence and certificates stay, so that its signatures still verify. */
  @Column('timestamptz', { nullable: true })
  destroyedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** The identity that the label of the pair in the token must state. */
export function identityOf(
  purpose: KeyPurpose,
  { keyId, name, version }: { readonly keyId: string; readonly name: string; readonly version: number },
): KeyIdentity {
  return { purpose, owner: signingKeyOwner(keyId, name, version) };
}
