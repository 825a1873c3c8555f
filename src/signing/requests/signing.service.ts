import { Injectable } from '@nestjs/common';
import type { Caller } from '../../auth/caller.js';
import type { SignatureScheme } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/http/problem.js';
import { IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { type Ended, SigningAttempts } from './signing-attempts.js';
import { type Acceptance, SigningLedger } from './signing-ledger.js';
import { digestAlgorithm, digestBytes, schemeFor } from './signing-order.js';
import type { SignatureFormat, SigningRequest } from './signing-request.entity.js';
import { SigningRequestsReader } from './signing-requests.reader.js';

export interface SigningOrder {
  /** Base64 of the hash value. */
  readonly digest: string;
  readonly algorithm: string;
  readonly key?: string;
  readonly scheme?: SignatureScheme;
  readonly format: SignatureFormat;
  readonly metadata: Record<string, unknown>;
  readonly reference: string | null;
  readonly background: boolean;
  readonly idempotencyKey?: string;
}

/** How long a caller whose Idempotency-Key meets a request under way is kept waiting for it. */
const REPEAT_WAIT_S = 10;
const PATH = '/api/v1/sign/requests';

/** Digests in, signatures out. */
@Injectable()
export class SigningService {
  constructor(
    private readonly ledger: SigningLedger,
    private readonly attempts: SigningAttempts,
    private readonly keys: SigningKeyReader,
    private readonly requests: SigningRequestsReader,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Records a request, then signs it while the caller waits, or leaves it to the workers. */
  async submit(caller: Caller, order: SigningOrder): Promise<SigningRequest> {
    const acceptance = await this.acceptanceOf(caller, order);
    const { id, at } = await this.ledger.accept(acceptance);
    if (id !== acceptance.request.id) return this.repeated(acceptance, id);
    const accepted = asAccepted(acceptance, at);
    if (order.background) return accepted;
    const ended = await this.attempts.attempt(
      { ...acceptance.request, correlation: caller.origin.requestId, attempt: 1, strikes: 0 },
      'sync',
    );
    return signedOrThrow(accepted, ended);
  }

  private async acceptanceOf(caller: Caller, order: SigningOrder): Promise<Acceptance> {
    const algorithm = digestAlgorithm(order.algorithm);
    const digest = digestBytes(order.digest, algorithm);
    const key = await this.keys.active(order.key);
    const id = newId();
    const { idempotencyKey, background, ...body } = order;
    return {
      request: {
        id,
        digest,
        algorithm,
        scheme: schemeFor(key.type, order.scheme),
        format: order.format,
        keyId: key.keyId,
        keyName: key.name,
        keyVersion: key.version,
        metadata: order.metadata,
        reference: order.reference,
      },
      status: background ? 'QUEUED' : 'PROCESSING',
      caller,
      use: this.idempotency.use(idempotencyKey, caller.id, 'signDigest', { ...body, background }, id),
    };
  }

  /** The same call again: its answer is the first call's request, awaited as the first caller awaits it. */
  private async repeated({ use, caller, status }: Acceptance, id: string): Promise<SigningRequest> {
    if (use !== undefined) await this.idempotency.assertSameBody(use);
    const request = await this.requests.find(caller, id, status === 'PROCESSING' ? REPEAT_WAIT_S : 0);
    if (request.status === 'FAILED' && status === 'PROCESSING')
      throw failure(id, request.failureCode ?? '', request.failureDetail ?? '');
    return request;
  }
}

/** The row as it was just committed, without reading it back. */
function asAccepted({ request, status, caller }: Acceptance, at: Date): SigningRequest {
  return {
    ...request,
    status,
    ownerId: caller.ownerId,
    requestedBy: caller.id,
    correlation: caller.origin.requestId,
    attempt: 0,
    strikes: 0,
    worker: null,
    leaseUntil: null,
    sweepAt: at,
    signature: null,
    failureCode: null,
    failureDetail: null,
    createdAt: at,
    finishedAt: null,
  };
}

function signedOrThrow(accepted: SigningRequest, ended: Ended | undefined): SigningRequest {
  const { id } = accepted;
  const outcome = ended?.outcome;
  switch (outcome?.kind) {
    case 'SIGNED':
      return Object.assign(accepted, { status: 'SIGNED', signature: outcome.signature, finishedAt: ended?.at });
    case 'FAILED':
      throw failure(id, outcome.code, outcome.detail);
    case 'RELEASED':
    case undefined:
      throw new Problem(
        'unavailable',
        outcome?.code ?? 'signing.late',
        `The HSM did not sign in time. The request is kept and tried again: read ${PATH}/${id}, or repeat the call with the same Idempotency-Key.`,
        { retryAfter: 2, instance: `${PATH}/${id}` },
      );
  }
}

function failure(id: string, code: string, detail: string): Problem {
  return new Problem('refused', code, detail, { instance: `${PATH}/${id}` });
}
