import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A certificate that was issued. Its row is committed before it is signed. */
@Entity('ssh_certificate')
@Index('ssh_certificate_serial', ['authorityId', 'serial'], { unique: true })
@Index('ssh_certificate_newest', ['authorityId', 'id'])
export class SshCertificate {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  authorityId: string;

  @Column('bigint')
  serial: string;

  @Column('text')
  keyId: string;

  @Column('text')
  fingerprint: string;

  @Column('text', { array: true })
  principals: string[];

  @Column('timestamptz')
  validAfter: Date;

  @Column('timestamptz')
  validBefore: Date;

  /** As in a `-cert.pub` file; null until it was signed. */
  @Column('text', { nullable: true })
  certificate: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
