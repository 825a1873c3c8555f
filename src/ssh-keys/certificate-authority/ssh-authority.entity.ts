import { Column, Entity, type EntityManager, type FindOptionsWhere, PrimaryColumn, Unique } from 'typeorm';
import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { assertSealed, trustedRows } from '../../platform/sealing/sealed-rows.js';
import type { CertificateKind } from './ssh-certificate.js';

export const AUTHORITY_STATES = ['ACTIVE', 'RETIRING', 'RETIRED'] as const;
/**
 * AuthorityState is the state of an authority. RETIRING: the authority no longer issues certificates, and hosts trust it until its last certificate has
 * expired.
 */
export type AuthorityState = (typeof AUTHORITY_STATES)[number];

/** SshAuthority is a key in the HSM that certifies SSH keys of users or hosts. */
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

  /** Public key as SubjectPublicKeyInfo in DER. */
  @Column('bytea')
  publicKey: Buffer;

  /** Serial number of the last certificate that the authority issued. */
  @Column('bigint', { default: 0 })
  serial: string;

  /** Version of the revocation list. */
  @Column('int', { default: 0 })
  listVersion: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/**
 * findAuthority returns the authority with this ID, or null.
 *
 * @throws Problem `row.not-sealed` if the row was modified directly in the database
 */
export async function findAuthority(tx: EntityManager, id: string): Promise<SshAuthority | null> {
  const row = assertSealed(tx, SshAuthority, await tx.findOneBy(SshAuthority, { id }));
  return row?.id === id.toLowerCase() ? row : null;
}

/**
 * authoritiesBy returns the authorities whose rows were written by the service, oldest first. Rows that were inserted or modified directly in the database are
 * omitted.
 */
export async function authoritiesBy(tx: EntityManager, where: FindOptionsWhere<SshAuthority>): Promise<SshAuthority[]> {
  return trustedRows(tx, SshAuthority, await tx.find(SshAuthority, { where, order: { id: 'ASC' } }));
}

export const REVOCATION_KINDS = ['serial', 'keyId', 'publicKey'] as const;
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/** SshRevocation is a serial number, key ID or public key that hosts must reject even if an authority certified it. */
@Entity('ssh_revocation')
@Unique('ssh_revocation_value', ['authorityId', 'kind', 'value'])
export class SshRevocation {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  authorityId: string;

  @Column('text')
  kind: RevocationKind;

  /** Serial number in decimal, key ID, or `TYPE BASE64`. */
  @Column('text')
  value: string;

  @Column('text', { nullable: true })
  reason: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
