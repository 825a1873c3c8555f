import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import type { CertificateKind } from './ssh-certificate.js';

export const AUTHORITY_STATES = ['ACTIVE', 'RETIRING', 'RETIRED'] as const;
/** RETIRING issues nothing more, and hosts still trust it until its last certificate has ended. */
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

  /** SubjectPublicKeyInfo, DER: an EC key on P-256. */
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
