import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Caller, OrderedBy } from '../../access/caller.js';
import type { VerifiedIdentity } from '../../access/identity/verified-identity.js';

/** READY: may be signed, or is. PENDING_APPROVAL: people are asked. FAILED: is never signed. */
export const CERTIFICATE_STATUSES = ['READY', 'PENDING_APPROVAL', 'FAILED'] as const;
export type CertificateStatus = (typeof CERTIFICATE_STATUSES)[number];

/** What a host may do about its own certificate. */
export interface RenewalTerms {
  /** No certificate by renewal lasts longer; RFC 3339. */
  readonly until: string;
  /** Addresses and CIDRs that a renewal may come from, separated by commas; null: any. */
  readonly sourceAddress: string | null;
  /** Id of the API key or OAuth client that ordered the first certificate; absent for other callers. */
  readonly credential?: string;
}

/** The request beyond the columns, and the requester: everything that is needed to sign later. */
export interface CertificateRequest {
  /** `TYPE BASE64` */
  readonly publicKey: string;
  readonly sourceAddress: string | null;
  readonly forceCommand: string | null;
  readonly extensions: readonly string[];
  readonly requestedBy: OrderedBy & Pick<Caller, 'ownerId'>;
  /** X-Request-Id of the call. */
  readonly correlation: string;
  /** What an issuer proved of the requester; absent for callers that are no workloads. */
  readonly identity?: VerifiedIdentity;
  /** The login rule by which it was requested; absent: by its content. */
  readonly rule?: { readonly id: string; readonly revision: number };
  /** Of host certificates that the host may renew; absent: it may not. */
  readonly renewal?: RenewalTerms;
}

/** A requested certificate. Its row is committed before it is signed; only a READY row can contain a certificate (CHECK). */
@Entity('ssh_certificate')
@Index('ssh_certificate_serial', ['authorityId', 'serial'], { unique: true })
@Index('ssh_certificate_newest', ['authorityId', 'id'])
@Index('ssh_certificate_unsigned', ['createdAt'], {
  where: "certificate IS NULL AND status = 'READY' AND request IS NOT NULL",
})
@Index('ssh_certificate_renewed', ['renews'], { unique: true, where: 'renews IS NOT NULL' })
@Check('ssh_certificate_ready', "certificate IS NULL OR status = 'READY'")
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

  /** Text of a `-cert.pub` file; null until it is signed. */
  @Column('text', { nullable: true })
  certificate: string | null;

  @Column('text', { default: 'READY' })
  status: CertificateStatus;

  /** null in rows from before certificates could wait for approval. */
  @Column('jsonb', { nullable: true })
  request: CertificateRequest | null;

  /** The certificate in whose place the host asked for this one; each is renewed once. */
  @Column('uuid', { nullable: true })
  renews: string | null;

  /** null: no policy asked for an approval. */
  @Column('uuid', { nullable: true })
  approvalId: string | null;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text', { nullable: true })
  failureDetail: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
