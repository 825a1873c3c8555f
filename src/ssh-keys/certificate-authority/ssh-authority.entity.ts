import { Column, Entity, type EntityManager, type FindOptionsWhere, PrimaryColumn, Unique } from 'typeorm';
import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { assertSealed, trustedRows } from '../../platform/sealing/sealed-rows.js';
import type { CertificateKind } from './ssh-certificate.js';

export const AUTHORITY_STATES = ['ACTIVE', 'RETIRING', 'RETIRED'] as const;
/** RETIRING: it issues no more certificates, and hosts trust it until its last one has expired. */
export type AuthorityState = (typeof AUTHORITY_STATES)[number];

/** A key in the HSM that certifies SSH keys of users or of hosts. */
@Entity('ssh_authority')
@Unique('ssh_authority_name', ['name'])
@Sealed<SshAuthority>({ except: ['serial', 'listVersion', 'createdAt'], generation: 2 })
export class SshAuthority extends SealedEntity {
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

/** The authority with this id, or null. @throws Problem `row.not-sealed` if its row was changed in the database */
export async function findAuthority(tx: EntityManager, id: string): Promise<SshAuthority | null> {
  const row = assertSealed(tx, SshAuthority, await tx.findOneBy(SshAuthority, { id }));
  return row?.id === id.toLowerCase() ? row : null;
}

/** The authorities whose rows the service wrote, oldest first; those that were inserted or changed in the database are left out. */
export async function authoritiesBy(tx: EntityManager, where: FindOptionsWhere<SshAuthority>): Promise<SshAuthority[]> {
  return trustedRows(tx, SshAuthority, await tx.find(SshAuthority, { where, order: { id: 'ASC' } }));
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
