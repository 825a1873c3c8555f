import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';

export const REVOCATION_KINDS = ['serial', 'keyId', 'publicKey'] as const;
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/** Something that hosts are to refuse although an authority certified it. */
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
