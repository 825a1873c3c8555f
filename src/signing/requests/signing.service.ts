import { Injectable } from '@nestjs/common';
import type { Caller } from '../../auth/caller.js';
import type { DigestAlgorithm, SignatureScheme } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/http/problem.js';
import { IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import type { ActiveKey } from '../keys/signing-key.reader.js';
import { type Ended, SigningAttempts } from './signing-attempts.js';
import { SigningIntake } from './signing-intake.js';
import { SigningLedger } from './signing-ledger.js';
import type { Acceptance } from './signing-outcome.js';
import type { SigningOrder } from './signing-order.js';
import type { SigningRequest } from './signing-request.entity.js';
import { type ShownRequest, SigningRequestsReader } from './signing-requests.reader.js';

/** Something of our own that a key signs: a certification request, a certificate. */
export interface OwnOrder {
  readonly key: ActiveKey;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  readonly digest: Buffer;
  /** What it is, for whoever reads the list of requests. */
  readonly metadata: Record<string, unknown>;
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
    private readonly intake: SigningIntake,
    private readonly requests: SigningRequestsReader,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Records a request, then signs it while the caller waits, or leaves it to the workers. */
  async submit(caller: Caller, order: SigningOrder): Promise<ShownRequest> {
    const acceptance = await this.intake.acceptanceOf(caller, order);
    const { id, at } = await this.ledger.accept(acceptance);
    if (id !== acceptance.request.id) return this.repeated(acceptance, id);
    if (order.background) return this.requests.shown(asAccepted(acceptance, at));
    return this.requests.shown(await this.signNow(acceptance, at));
  }

  /** Signs something of our own with any key: recorded, and answered for, like every other request. */
  async signOwn(caller: Caller, { key, scheme, algorithm, digest, metadata }: OwnOrder): Promise<Buffer> {
    const { keyId, name: keyName, version: keyVersion, certificateId } = key;
    const place = { id: newId(), keyId, keyName, keyVersion, certificateId };
    const request = { ...place, digest, algorithm, scheme, format: 'raw' as const, metadata, reference: null };
    const acceptance: Acceptance = { request, status: 'PROCESSING', caller };
    const { at } = await this.ledger.accept(acceptance);
    const { signature } = await this.signNow(acceptance, at);
    if (signature === null) throw new Error('a signed request has a signature');
    return signature;
  }

  private async signNow(acceptance: Acceptance, at: Date): Promise<ShownRequest> {
    const { request, envelope, caller } = acceptance;
    const correlation = caller.origin.requestId;
    const ended = await this.attempts.attempt({ ...request, envelope, correlation, attempt: 1, strikes: 0 }, 'sync');
    return signedOrThrow(asAccepted(acceptance, at), ended);
  }

  /** The same call again: its answer is the first call's request, awaited as the first caller awaits it. */
  private async repeated({ use, caller, status }: Acceptance, id: string): Promise<ShownRequest> {
    if (use !== undefined) await this.idempotency.assertSameBody(use);
    const request = await this.requests.find(caller, id, status === 'PROCESSING' ? REPEAT_WAIT_S : 0);
    if (request.status === 'FAILED' && status === 'PROCESSING')
      throw failure(id, request.failureCode ?? '', request.failureDetail ?? '');
    return request;
  }
}

/** The row as it was just committed, without reading it back. */
function asAccepted({ request, envelope, status, caller }: Acceptance, at: Date): SigningRequest {
  return {
    ...request,
    enveloped: envelope !== undefined,
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

function signedOrThrow(accepted: SigningRequest, ended: Ended | undefined): ShownRequest {
  const { id } = accepted;
  const outcome = ended?.outcome;
  switch (outcome?.kind) {
    case 'SIGNED':
      return Object.assign(accepted, {
        status: 'SIGNED' as const,
        signature: outcome.signature,
        timestampToken: outcome.timestampToken ?? null,
        finishedAt: ended?.at ?? null,
      });
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
