import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import type { CertificateKind } from './ssh-certificate.js';

export const AUTHORITY_STATES = ['ACTIVE', 'RETIRING', 'RETIRED'] as const;
/** RETIRING: it issues no more certificates, and hosts trust it until its last one has expired. */
export type AuthorityState = (typeof AUTHORITY_STATES)[number];

/** A key in the HSM that certifies SSH keys of users or of hosts. */
@Entity('ssh_authority')
@Unique('ssh_authority_name', ['name'])
export class SshAuthority {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('text')
  kind: CertificateKind;

  @Column('text', { default: 'ACTIVE' })
  state: AuthorityState;

  @Column('bytea')
  ckaId: Buffer;

  /** SubjectPublicKeyInfo, DER. */
  @Column('bytea')
  publicKey: Buffer;

  /** Serial of the last certificate. */
  @Column('bigint', { default: 0 })
  serial: string;

  /** Version of the revocation list. */
  @Column('int', { default: 0 })
  listVersion: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

export const REVOCATION_KINDS = ['serial', 'keyId', 'publicKey'] as const;
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/** A serial, key id or public key that hosts must refuse although an authority certified it. */
@Entity('ssh_revocation')
@Unique('ssh_revocation_value', ['authorityId', 'kind', 'value'])
export class SshRevocation {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  authorityId: string;

  @Column('text')
  kind: RevocationKind;

  /** A serial in decimal, a key id, or `TYPE BASE64`. */
  @Column('text')
  value: string;

  @Column('text', { nullable: true })
  reason: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
