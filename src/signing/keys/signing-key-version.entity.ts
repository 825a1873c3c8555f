import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import { type KeyEvidence, type KeyIdentity, signingKeyOwner } from '../../hsm/key-vault.js';
import type { KeyPurpose } from './signing-key.entity.js';

/** SigningKeyVersion is one key pair in the token. */
@Entity('signing_key_version')
export class SigningKeyVersion {
  @PrimaryColumn('uuid')
  keyId: string;

  @PrimaryColumn('int')
  version: number;

  /** CKA_ID of the key pair in the token. */
  @Unique('signing_key_version_cka_id', ['ckaId'])
  @Column('bytea')
  ckaId: Buffer;

  /** SubjectPublicKeyInfo, DER. Every signature is verified with this public key. Null until the token has generated the key pair. */
  @Column('bytea', { nullable: true })
  publicKey: Buffer | null;

  /** The private key, sealed with a key in the token, for types that the token does not support. Null if the token contains the private key. */
  @Column('bytea', { nullable: true })
  sealed: Buffer | null;

  /** Attributes of the private key that the token reported when the key was generated. */
  @Column('jsonb', { nullable: true })
  evidence: KeyEvidence | null;

  /** Time at which the creation of the version was abandoned. */
  @Column('timestamptz', { nullable: true })
  failedAt: Date | null;

  /** Time at which the private key was destroyed. The public key, evidence and certificates are kept, so that signatures still verify. */
  @Column('timestamptz', { nullable: true })
  destroyedAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** Returns the identity that the label of the key pair in the token must contain. */
export function identityOf(
  purpose: KeyPurpose,
  { keyId, name, version }: { readonly keyId: string; readonly name: string; readonly version: number },
): KeyIdentity {
  return { purpose, owner: signingKeyOwner(keyId, name, version) };
}
