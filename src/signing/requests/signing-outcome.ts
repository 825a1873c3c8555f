import type { Caller } from '../../access/caller.js';
import type { IdempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import type { MadeSignature } from '../formats/signature-format.js';
import type { SigningKeyFacts } from '../keys/key-facts.js';
import type { KeyConstraints } from '../keys/key-constraints.js';
import type { SigningEnvelope } from '../model/signing-envelope.entity.js';
import type { SigningRequest } from '../model/signing-request.entity.js';
import type { SigningStatus } from '../model/signing-status.js';

/** A request as it comes in. */
export interface NewSigningRequest {
  readonly request: Pick<
    SigningRequest,
    | 'id'
    | 'digest'
    | 'algorithm'
    | 'scheme'
    | 'format'
    | 'keyId'
    | 'keyName'
    | 'keyVersion'
    | 'certificateId'
    | 'metadata'
    | 'reference'
    | 'composed'
    | 'batchId'
    | 'batchIndex'
  >;
  /** The revision of the key that the request was judged by. */
  readonly keyRevision: number;
  /** What the log is to say of the key. */
  readonly keyFacts: SigningKeyFacts;
  /** Limits of the key that count requests. */
  readonly limits: Pick<KeyConstraints, 'perDay' | 'lifetime'>;
  /** Without one the HSM signs the request's digest and its signature is the answer. */
  readonly envelope?: Omit<SigningEnvelope, 'requestId' | 'timestampToken'>;
  readonly status: Extract<SigningStatus, 'QUEUED' | 'PROCESSING' | 'PENDING_APPROVAL'>;
  /** Only when it is held: the approval that it waits for. */
  readonly approvalId?: string;
  /** Revision of the approval policies that it was judged by; absent for what no policy is asked about. */
  readonly policies?: number;
  readonly caller: Caller;
  readonly use?: IdempotentUse;
}

export interface Accepted {
  /** The request's own id, or that of the earlier request which its Idempotency-Key stands for. */
  readonly id: string;
  /** When this call's group was committed; all times in answers are the database's. */
  readonly at: Date;
}

/** How an attempt ended. RELEASED gives the request back for another attempt. */
export type SigningOutcome =
  | ({ readonly kind: 'SIGNED' } & MadeSignature)
  | { readonly kind: 'FAILED'; readonly code: string; readonly detail: string }
  | { readonly kind: 'RELEASED'; readonly code: string; readonly retryInMs: number };

/** One attempt: the fence that every outcome must pass. */
export interface SigningAttempt {
  readonly id: string;
  readonly attempt: number;
  /** X-Request-Id of the call that asked for the signature: goes into the entry of every step. */
  readonly correlation: string;
}

export interface Settlement extends SigningAttempt {
  readonly outcome: SigningOutcome;
}
