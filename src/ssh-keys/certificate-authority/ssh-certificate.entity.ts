import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Caller, OrderedBy } from '../../access/caller.js';
import type { VerifiedIdentity } from '../../access/identity/verified-identity.js';

/**
 * CERTIFICATE_STATUSES are the statuses of a certificate. READY: signed, or ready to be signed. PENDING_APPROVAL: waiting for approval. FAILED: will never be
 * signed.
 */
export const CERTIFICATE_STATUSES = ['READY', 'PENDING_APPROVAL', 'FAILED'] as const;
export type CertificateStatus = (typeof CERTIFICATE_STATUSES)[number];

/** RenewalTerms describes how a host may renew its own certificate. */
export interface RenewalTerms {
  /** Latest expiration time of a renewed certificate (RFC 3339). */
  readonly until: string;
  /** Addresses and CIDRs from which a renewal is accepted, separated by commas. Null means any address. */
  readonly sourceAddress: string | null;
  /** ID of the API key or OAuth client that requested the first certificate. Undefined for other callers. */
  readonly credential?: string;
}

/**
 * CertificateRequest contains the requester and the parts of the request that have no columns. Together with the row, the request is sufficient to sign the
 * certificate later.
 */
export interface CertificateRequest {
  /** Public key to certify: `TYPE BASE64`. */
  readonly publicKey: string;
  readonly sourceAddress: string | null;
  readonly forceCommand: string | null;
  readonly extensions: readonly string[];
  readonly requestedBy: OrderedBy & Pick<Caller, 'ownerId'>;
  /** X-Request-Id of the call. */
  readonly correlation: string;
  /** Verified identity of the requester. Undefined for callers that are not workloads. */
  readonly identity?: VerifiedIdentity;
  /** Login rule that defines the content. Undefined if the request defines the content. */
  readonly rule?: { readonly id: string; readonly revision: number };
  /** Terms under which the host may renew its certificate. Undefined if renewal is not allowed. */
  readonly renewal?: RenewalTerms;
}

/** SshCertificate is a requested certificate. The row is committed before the certificate is signed, and only a READY row can contain a certificate (CHECK). */
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

  /** Content of the `-cert.pub` file. Null until the certificate is signed. */
  @Column('text', { nullable: true })
  certificate: string | null;

  @Column('text', { default: 'READY' })
  status: CertificateStatus;

  /** Null in rows created by versions without certificate approvals. */
  @Column('jsonb', { nullable: true })
  request: CertificateRequest | null;

  /** ID of the certificate that the host renewed with this certificate. Each certificate can be renewed once. */
  @Column('uuid', { nullable: true })
  renews: string | null;

  /** ID of the approval. Null if no policy requires approval. */
  @Column('uuid', { nullable: true })
  approvalId: string | null;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text', { nullable: true })
  failureDetail: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
