import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An onboarded certificate with its chain: of one of our keys, or a foreign one whose dates are watched. Rows never change. */
@Entity('certificate')
@Check('certificate_key', `(key_id IS NULL) = (key_version IS NULL)`)
@Index('certificate_of_key', ['keyId', 'keyVersion', 'id'])
@Index('certificate_fingerprint', ['fingerprint'], { unique: true })
export class Certificate {
  @PrimaryColumn('uuid')
  id: string;

  /** The signing key and the version whose public key it certifies; null for a certificate that is not ours. */
  @Column('uuid', { nullable: true })
  keyId: string | null;

  @Column('int', { nullable: true })
  keyVersion: number | null;

  /** Distinguished names as RFC 4514 text. */
  @Column('text')
  subject: string;

  @Column('text')
  issuer: string;

  /** Hexadecimal. */
  @Column('text')
  serialNumber: string;

  /** SHA-256 of the DER certificate. */
  @Column('bytea')
  fingerprint: Buffer;

  @Column('timestamptz')
  notBefore: Date;

  @Column('timestamptz')
  notAfter: Date;

  /** Purposes of its extended key usage; empty without the extension, which allows every use. */
  @Column('text', { array: true })
  purposes: string[];

  /** DER, the certificate itself first, then issuer after issuer. */
  @Column('bytea', { array: true })
  chain: Buffer[];

  @Column('text')
  ownerId: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
