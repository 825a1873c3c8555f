import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * An onboarded certificate with its chain: either the certificate of a signing key, or an external certificate whose expiry is monitored. Rows never change.
 */
@Entity('certificate')
@Check('certificate_key', `(key_id IS NULL) = (key_version IS NULL)`)
@Index('certificate_of_key', ['keyId', 'keyVersion', 'id'])
@Index('certificate_fingerprint', ['fingerprint'], { unique: true })
export class Certificate {
  @PrimaryColumn('uuid')
  id: string;

  /** The signing key whose version `keyVersion` is certified; null for an external certificate. */
  @Column('uuid', { nullable: true })
  keyId: string | null;

  @Column('int', { nullable: true })
  keyVersion: number | null;

  /** Distinguished names as RFC 4514 strings. */
  @Column('text')
  subject: string;

  @Column('text')
  issuer: string;

  /** Serial number, hexadecimal. */
  @Column('text')
  serialNumber: string;

  /** SHA-256 of the DER certificate. */
  @Column('bytea')
  fingerprint: Buffer;

  @Column('timestamptz')
  notBefore: Date;

  @Column('timestamptz')
  notAfter: Date;

  /** Purposes in the extended key usage extension. Empty if the extension is absent, which allows every use. */
  @Column('text', { array: true })
  purposes: string[];

  /** DER: the certificate itself, followed by its issuers in order. */
  @Column('bytea', { array: true })
  chain: Buffer[];

  @Column('text')
  ownerId: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
