import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { VerifiedIdentity } from '../access/identity/verified-identity.js';
import type { DigestAlgorithm, SignatureScheme } from '../hsm/key-vault.js';
import type { SignatureFormat } from './formats/signature-format.js';

/** Statuses of a signing request. */
export const SIGNING_STATUSES = ['QUEUED', 'PROCESSING', 'SIGNED', 'FAILED', 'PENDING_APPROVAL'] as const;
export type SigningStatus = (typeof SIGNING_STATUSES)[number];

/**
 * All allowed transitions. SIGNED and FAILED are final. A request that is signed while its caller waits starts in PROCESSING; a request that needs approval
 * starts in PENDING_APPROVAL. PROCESSING → QUEUED releases a request: its HSM call failed, or its process died. QUEUED → PENDING_APPROVAL requests approval
 * again: the key was rotated after the approval.
 */
const MOVES: Record<SigningStatus, readonly SigningStatus[]> = {
  PENDING_APPROVAL: ['QUEUED', 'FAILED'],
  QUEUED: ['PROCESSING', 'FAILED', 'PENDING_APPROVAL'],
  PROCESSING: ['SIGNED', 'FAILED', 'QUEUED'],
  SIGNED: [],
  FAILED: [],
};

/** Returns the statuses from which a transition to `next` is allowed, for every compare-and-set. */
export function signingStatusesBefore(next: SigningStatus): SigningStatus[] {
  return SIGNING_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isFinalSigningStatus(status: SigningStatus): boolean {
  return MOVES[status].length === 0;
}

/**
 * A signature request, from any interface. The row is changed only by the compare-and-set statements of signing-request.repository.ts. A row in PROCESSING is
 * the intent: it was committed before the HSM was called.
 */
@Entity('signing_request')
@Check('signing_request_signature', `(status = 'SIGNED') = (signature IS NOT NULL)`)
@Check('signing_request_failure', `(status = 'FAILED') = (failure_code IS NOT NULL)`)
@Check('signing_request_lease', `(status = 'PROCESSING') = (worker IS NOT NULL AND lease_until IS NOT NULL)`)
@Check('signing_request_finished', `(status IN ('SIGNED', 'FAILED')) = (finished_at IS NOT NULL)`)
@Index('signing_request_queued', ['sweepAt'], { where: `status = 'QUEUED'` })
@Index('signing_request_processing', ['leaseUntil'], { where: `status = 'PROCESSING'` })
@Index('signing_request_key', ['keyId', 'createdAt'], { where: 'NOT composed' })
@Index('signing_request_held', ['keyId'], { where: `status = 'PENDING_APPROVAL'` })
@Index('signing_request_approval', ['approvalId'], { where: `status = 'PENDING_APPROVAL'` })
@Index('signing_request_failed', ['id'], { where: `status = 'FAILED'` })
@Index('signing_request_owner', ['ownerId', 'id'])
@Index('signing_request_owner_failed', ['ownerId', 'id'], { where: `status = 'FAILED'` })
@Index('signing_request_digest', ['digest', 'id'])
@Index('signing_request_of_key', ['keyId', 'id'])
@Index('signing_request_caller', ['requestedBy', 'id'])
@Index('signing_request_reference', ['reference', 'id'], { where: 'reference IS NOT NULL' })
@Index('signing_request_correlation', ['correlation', 'id'])
@Index('signing_request_approvals', ['keyId', 'approvalId'], { where: 'approval_id IS NOT NULL' })
@Index('signing_request_batch', ['batchId'], { where: 'batch_id IS NOT NULL' })
export class SigningRequest {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  status: SigningStatus;

  @Column('bytea')
  digest: Buffer;

  @Column('text')
  algorithm: DigestAlgorithm;

  @Column('text')
  scheme: SignatureScheme;

  @Column('text')
  format: SignatureFormat;

  @Column('uuid')
  keyId: string;

  @Column('text')
  keyName: string;

  @Column('int')
  keyVersion: number;

  /** The certificate of the key when the request was accepted. The response contains the certificate, as do formats that include a certificate. */
  @Column('uuid', { nullable: true })
  certificateId: string | null;

  /** True if signing_envelope contains a row for the request. */
  @Column('boolean', { default: false })
  enveloped: boolean;

  /** True if the service composed the signed structure, for example a certification request. No caller chose the structure. */
  @Column('boolean', { default: false })
  composed: boolean;

  /** The batch to which the request belongs; null for a request outside a batch. */
  @Column('uuid', { nullable: true })
  batchId: string | null;

  @Column('int', { nullable: true })
  batchIndex: number | null;

  @Column('jsonb', { default: {} })
  metadata: Record<string, unknown>;

  /** Client-defined reference for the request. */
  @Column('text', { nullable: true })
  reference: string | null;

  /** The user on whose behalf the request was made. */
  @Column('text')
  ownerId: string;

  /** The caller: a user, an API key, an OAuth client or a workload run. */
  @Column('text')
  requestedBy: string;

  /** Verified claims of the requesting workload run; null for other callers. */
  @Column('jsonb', { nullable: true })
  identity: VerifiedIdentity | null;

  /** X-Request-Id of the call. */
  @Column('text')
  correlation: string;

  /** W3C Trace Context of the call if it is traced. Background work continues the trace. */
  @Column('text', { nullable: true })
  traceParent: string | null;

  /** The approval that the request is waiting for, or that released it. */
  @Column('uuid', { nullable: true })
  approvalId: string | null;

  /** Time at which the approval released the request. */
  @Column('timestamptz', { nullable: true })
  releasedAt: Date | null;

  /** Counts the transitions to PROCESSING. Together with `worker`, it fences off late outcomes. */
  @Column('int', { default: 0 })
  attempt: number;

  /** Number of failed attempts, limited by MAX_SIGNING_STRIKES. */
  @Column('int', { default: 0 })
  strikes: number;

  /** The process that claimed the request. */
  @Column('uuid', { nullable: true })
  worker: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** Time from which the sweep claims the request, with or without a job signal. */
  @Column('timestamptz', { default: () => 'now()' })
  sweepAt: Date;

  @Column('bytea', { nullable: true })
  signature: Buffer | null;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text', { nullable: true })
  failureDetail: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;
}

/**
 * The data of a signing request beyond a raw signature over its digest. It is written together with the request, so that every attempt, in any
 * process, signs the same bytes. A request for a raw signature without a timestamp has no envelope.
 */
@Entity('signing_envelope')
export class SigningEnvelope {
  @PrimaryColumn('uuid')
  requestId: string;

  /** SpcIndirectDataContent, DER; `authenticode` only. */
  @Column('bytea', { nullable: true })
  content: Buffer | null;

  /** The bytes that are signed instead of the request's digest; null if the digest itself is signed. */
  @Column('bytea', { nullable: true })
  toBeSigned: Buffer | null;

  /** The hash of `toBeSigned`, which is sent to the HSM. */
  @Column('bytea', { nullable: true })
  signedDigest: Buffer | null;

  /** True if the response includes a timestamp over the signature. */
  @Column('boolean')
  timestamped: boolean;

  /** TimeStampToken (RFC 3161), DER. */
  @Column('bytea', { nullable: true })
  timestampToken: Buffer | null;
}

/** A refused batch item. A refused item has no signing request, so the reason is stored here. */
export interface RefusedItem {
  readonly index: number;
  readonly code: string;
  readonly detail: string;
}

/** Requests that were submitted in one call. Each item is a regular request; the row only groups the requests. */
@Entity('signing_batch')
export class SigningBatch {
  @PrimaryColumn('uuid')
  id: string;

  @Column('int')
  size: number;

  /** Null until every item has been accepted or refused. */
  @Column('jsonb', { nullable: true })
  refused: RefusedItem[] | null;

  @Column('text')
  ownerId: string;

  @Column('text')
  requestedBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
