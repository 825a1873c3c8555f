import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { VerifiedIdentity } from '../../access/identity/verified-identity.js';
import type { DigestAlgorithm, SignatureScheme } from '../../hsm/key-vault.js';
import type { SignatureFormat } from '../formats/signature-format.js';

/** The life of a signing request. */
export const SIGNING_STATUSES = ['QUEUED', 'PROCESSING', 'SIGNED', 'FAILED', 'PENDING_APPROVAL'] as const;
export type SigningStatus = (typeof SIGNING_STATUSES)[number];

/**
 * Every legal transition. SIGNED and FAILED are final.
 * A request that is signed while its caller waits starts in PROCESSING; one that needs approval, in PENDING_APPROVAL.
 * PROCESSING → QUEUED returns a request: its HSM call failed, or its process died.
 * QUEUED → PENDING_APPROVAL requests approval again: the key was rotated after the approval.
 */
const MOVES: Record<SigningStatus, readonly SigningStatus[]> = {
  PENDING_APPROVAL: ['QUEUED', 'FAILED'],
  QUEUED: ['PROCESSING', 'FAILED', 'PENDING_APPROVAL'],
  PROCESSING: ['SIGNED', 'FAILED', 'QUEUED'],
  SIGNED: [],
  FAILED: [],
};

/** The statuses from which a move to `next` may start: the compare of every compare-and-set. */
export function signingStatusesBefore(next: SigningStatus): SigningStatus[] {
  return SIGNING_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isFinalSigningStatus(status: SigningStatus): boolean {
  return MOVES[status].length === 0;
}

/**
 * A request for a signature from any interface. Changed only by the compare-and-set statements of signing-request.repository.ts. A row in PROCESSING is the
 * intent: it was committed before the HSM was called.
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

  /** The certificate that the key had then: it goes into the answer, and into formats that carry one. */
  @Column('uuid', { nullable: true })
  certificateId: string | null;

  /** There is a row in signing_envelope. */
  @Column('boolean', { default: false })
  enveloped: boolean;

  /** The signed structure was composed by the service, for example a certification request; no caller chose it. */
  @Column('boolean', { default: false })
  composed: boolean;

  /** The call with many digests that it came with, and its place there. */
  @Column('uuid', { nullable: true })
  batchId: string | null;

  @Column('int', { nullable: true })
  batchIndex: number | null;

  @Column('jsonb', { default: {} })
  metadata: Record<string, unknown>;

  /** The caller's own name for it. */
  @Column('text', { nullable: true })
  reference: string | null;

  /** The person behind the request. */
  @Column('text')
  ownerId: string;

  /** The caller: a user, an API key, an OAuth client or the run of a workload. */
  @Column('text')
  requestedBy: string;

  /** Claims that an issuer proved about the requesting run; null for callers that are not workloads. */
  @Column('jsonb', { nullable: true })
  identity: VerifiedIdentity | null;

  /** X-Request-Id of the call. */
  @Column('text')
  correlation: string;

  /** W3C Trace Context of the call, while it is traced: background work continues its trace. */
  @Column('text', { nullable: true })
  traceParent: string | null;

  /** The approval that it waits for, or was released by. */
  @Column('uuid', { nullable: true })
  approvalId: string | null;

  /** When its approval released it. */
  @Column('timestamptz', { nullable: true })
  releasedAt: Date | null;

  /** Counts the moves to PROCESSING. With `worker` it is the fence against late outcomes. */
  @Column('int', { default: 0 })
  attempt: number;

  /** Attempts that failed; MAX_SIGNING_STRIKES limits these. */
  @Column('int', { default: 0 })
  strikes: number;

  /** The process that works on it. */
  @Column('uuid', { nullable: true })
  worker: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** From then on the sweep claims it, with or without a job signal. */
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
 * The data of a signing request beyond a bare signature over its digest. It is written with the request, so that every attempt, by
 * whichever process, signs the same bytes. A request for a raw signature without timestamp has none.
 */
@Entity('signing_envelope')
export class SigningEnvelope {
  @PrimaryColumn('uuid')
  requestId: string;

  /** SpcIndirectDataContent, DER; `authenticode` only. */
  @Column('bytea', { nullable: true })
  content: Buffer | null;

  /** The bytes that are signed in place of the request's digest; null when it is signed itself. */
  @Column('bytea', { nullable: true })
  toBeSigned: Buffer | null;

  /** The hash of these bytes: the digest that the HSM gets. */
  @Column('bytea', { nullable: true })
  signedDigest: Buffer | null;

  /** A timestamp over the signature is part of the answer. */
  @Column('boolean')
  timestamped: boolean;

  /** TimeStampToken (RFC 3161), DER. */
  @Column('bytea', { nullable: true })
  timestampToken: Buffer | null;
}

/** An item that was not accepted: it has no request, so the reason is stored here. */
export interface RefusedItem {
  readonly index: number;
  readonly code: string;
  readonly detail: string;
}

/** Many requests that came in one call. Each is a request like any other; this row only holds them together. */
@Entity('signing_batch')
export class SigningBatch {
  @PrimaryColumn('uuid')
  id: string;

  @Column('int')
  size: number;

  /** Null until every item was accepted or refused. */
  @Column('jsonb', { nullable: true })
  refused: RefusedItem[] | null;

  @Column('text')
  ownerId: string;

  @Column('text')
  requestedBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
