import type { Caller } from '../../access/caller.js';
import type { ApprovalRequirement } from '../../approvals/approvals.service.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { traceParent } from '../../platform/observability/tracing.js';
import type { MadeSignature } from '../formats/signature-format.js';
import type { KeyConstraints } from '../keys/key-constraints.js';
import type { SigningKeyFacts } from '../keys/key-facts.js';
import type { SigningEnvelope, SigningRequest } from '../signing-request.entity.js';

/** The part of the envelope that is written with the request. */
export type Envelope = Omit<SigningEnvelope, 'requestId' | 'timestampToken'>;

/** The columns of a request. */
export type SigningRow = Pick<SigningRequest, keyof SigningRequest>;

/** A validated request that has not been recorded yet. */
export interface NewSigningRequest {
  /** The row to be committed. Its times are replaced with the database time of the commit. */
  readonly row: SigningRow;
  /** Absent if the HSM signs the digest of the request and the response is the raw signature. */
  readonly envelope?: Envelope;
  /** The revision of the key against which the request was validated. */
  readonly keyRevision: number;
  /** Facts about the key for the audit log. */
  readonly keyFacts: SigningKeyFacts;
  /** The key's limits on the number of requests. */
  readonly limits: Pick<KeyConstraints, 'perDay' | 'lifetime'>;
  /** Revision of the evaluated approval policies; absent if no policies were evaluated. */
  readonly policies?: number;
  /** The approval that the request requires, if any. */
  readonly requirement?: ApprovalRequirement;
  readonly caller: Caller;
  readonly use?: IdempotentUse;
}

/** The part of a claimed request that an attempt needs. `id` and `attempt` fence off late outcomes. */
export type Claimed = Pick<
  SigningRequest,
  | 'id'
  | 'attempt'
  | 'strikes'
  | 'correlation'
  | 'traceParent'
  | 'digest'
  | 'algorithm'
  | 'scheme'
  | 'format'
  | 'keyId'
  | 'keyVersion'
  | 'keyName'
  | 'certificateId'
  | 'composed'
  | 'metadata'
  | 'requestedBy'
  | 'ownerId'
  | 'identity'
> & {
  readonly keyRevision: number;
  readonly envelope?: Envelope;
  /** SHA-256 of the public key according to the audit entries of the request, base64. Absent in entries written by earlier versions. */
  readonly publicKeySha256?: string | undefined;
  /** IDs of the audit entries about the approval at the time of the claim. */
  readonly approvalEntries?: readonly string[] | undefined;
};

/** Outcome of an attempt. RELEASED returns the request to the queue for another attempt. */
export type SigningOutcome =
  | ({ readonly kind: 'SIGNED' } & MadeSignature)
  | { readonly kind: 'FAILED'; readonly code: string; readonly detail: string }
  | { readonly kind: 'RELEASED'; readonly code: string; readonly retryInMs: number };

type ValidatedColumns =
  | 'id'
  | 'status'
  | 'digest'
  | 'algorithm'
  | 'scheme'
  | 'format'
  | 'keyId'
  | 'keyName'
  | 'keyVersion'
  | 'certificateId'
  | 'enveloped'
  | 'composed'
  | 'batchId'
  | 'batchIndex'
  | 'metadata'
  | 'reference';

/** Returns the row of a new request. A request that is signed while its caller waits starts with its first attempt. */
export function newRow(caller: Caller, validated: Pick<SigningRequest, ValidatedColumns>): SigningRow {
  const now = new Date();
  return {
    ...validated,
    ownerId: caller.ownerId,
    requestedBy: caller.id,
    identity: caller.identity ?? null,
    correlation: caller.origin.requestId,
    traceParent: traceParent(),
    approvalId: null,
    releasedAt: null,
    attempt: validated.status === 'PROCESSING' ? 1 : 0,
    strikes: 0,
    worker: null,
    leaseUntil: null,
    sweepAt: now,
    signature: null,
    failureCode: null,
    failureDetail: null,
    createdAt: now,
    finishedAt: null,
  };
}
