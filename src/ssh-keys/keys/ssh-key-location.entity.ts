import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const LOCATION_KINDS = ['authorized-key', 'private-key'] as const;
export type LocationKind = (typeof LOCATION_KINDS)[number];

/** SshKeyLocation is a current or past location of a key on a host. */
@Entity('ssh_key_location')
@Index('ssh_key_location_place', ['hostId', 'path', 'kind', 'account', 'keyId', 'occurrence'], { unique: true })
@Index('ssh_key_location_key', ['keyId'])
export class SshKeyLocation {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  keyId: string;

  @Column('uuid')
  hostId: string;

  @Column('text')
  kind: LocationKind;

  @Column('text')
  account: string;

  @Column('int', { nullable: true })
  uid: number | null;

  @Column('text')
  path: string;

  @Column('int', { nullable: true })
  line: number | null;

  /** Ordinal of the line among the lines with the same key in one file. */
  @Column('int', { default: 1 })
  occurrence: number;

  /** Options on the line, exactly as written. */
  @Column('text', { nullable: true })
  options: string | null;

  @Column('text', { nullable: true })
  comment: string | null;

  /** Whether a passphrase protects the private key. Null if unknown. */
  @Column('boolean', { nullable: true })
  passphrase: boolean | null;

  /** Time at which a signature last proved that the file contains the private key. Null if only reported by the host. */
  @Column('timestamptz', { nullable: true })
  provenAt: Date | null;

  @Column('timestamptz', { nullable: true })
  modifiedAt: Date | null;

  @Column('timestamptz')
  firstSeen: Date;

  @Column('timestamptz')
  lastSeen: Date;

  /** Time at which the file was first found without the key. Null while the key is present. */
  @Column('timestamptz', { nullable: true })
  goneAt: Date | null;
}
